#include "tuner/campaign_file/shipped_build.hpp"

#include <algorithm>
#include <type_traits>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "measure/artifact/recipe.hpp"

namespace nocturne::tuner {
namespace {

constexpr const char* kCanBuildFact = "machine.can_build";
constexpr const char* kCompilersFact = "machine.compilers";
constexpr const char* kShippedCompiler = "g++";
constexpr const char* kBecause =
    "no compiler with the worker's headers here: the worker that came along is used as it is";

bool can_build(const space::Facts& facts) {
  const space::Fact* fact = facts.find(kCanBuildFact);
  return fact == nullptr || *fact != space::Fact(false);
}

/// To the file's own constraints the compiler of what came along is there.
void add_shipped_compiler(space::Facts& facts) {
  const space::Fact* fact = facts.find(kCompilersFact);
  const auto* known = fact == nullptr ? nullptr : std::get_if<std::vector<std::string>>(fact);
  std::vector<std::string> compilers = known == nullptr ? std::vector<std::string>() : *known;
  if (std::ranges::find(compilers, kShippedCompiler) != compilers.end()) return;
  compilers.emplace_back(kShippedCompiler);
  facts.set(kCompilersFact, std::move(compilers));
}

bool can_be(const space::ParameterSpec& parameter, const space::Value& value) {
  const auto lists = [&](const auto& domain) {
    if constexpr (requires { domain.values; })
      return std::ranges::find(domain.values, value) != domain.values.end();
    else
      return std::is_same_v<std::decay_t<decltype(domain)>, space::BooleanSpec> && std::holds_alternative<bool>(value);
  };
  return std::visit(lists, parameter.domain);
}

}  // namespace

ShippedBuild keep_shipped_build(std::vector<space::ParameterSpec>& parameters,
                                std::vector<space::ConstraintSpec>& constraints, space::Facts& facts) {
  ShippedBuild result;
  if (can_build(facts)) return result;
  std::vector<std::string> kept;
  for (space::ParameterSpec& parameter : parameters) {
    const auto shipped = measure::shipped_value(parameter.name);
    if (!shipped) continue;
    if (!can_be(parameter, *shipped)) {
      result.impossible.push_back(parameter.name);
      continue;
    }
    parameter.default_value = *shipped;
    const std::string text = space::to_text(*shipped);
    constraints.push_back({.require = std::holds_alternative<bool>(*shipped)
                                          ? fmt::format("not {}", parameter.name)
                                          : fmt::format("{} == '{}'", parameter.name, text),
                           .because = kBecause});
    kept.push_back(fmt::format("{}={}", parameter.name, text.empty() ? "''" : text));
  }
  if (kept.empty()) return result;
  add_shipped_compiler(facts);
  result.sentence = fmt::format("{}; these parameters stay at: {}", kBecause, fmt::join(kept, ", "));
  return result;
}

}  // namespace nocturne::tuner
