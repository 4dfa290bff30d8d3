#include "tuner/cli/choice/configuration_words.hpp"

#include <optional>
#include <vector>

#include <fmt/format.h>

#include "space/nearest.hpp"
#include "tuner/campaign/fitting.hpp"
#include "tuner/own_command/variation.hpp"

namespace nocturne::cli {
namespace {

/// The value of a parameter that is written so. JSON, or a text without quotes.
std::optional<space::Value> value_of(const space::Parameter& parameter, const std::string& text) {
  if (parameter.is_real()) {
    const auto number = nlohmann::json::parse(text, nullptr, false);
    if (number.is_number()) return parameter.round(number.get<double>());
    return std::nullopt;
  }
  for (std::uint64_t i = 0; i < parameter.size(); ++i)
    if (auto value = parameter.value(i); space::to_text(value) == text) return value;
  return std::nullopt;
}

}  // namespace

std::expected<space::Configuration, std::string> read_configuration(const space::Space& space,
                                                                    space::Configuration base, std::string_view words) {
  auto configuration = std::move(base);
  const std::string all(words);
  std::vector<std::string> named;
  while (!words.empty()) {
    const auto comma = words.find(',');
    const auto pair = words.substr(0, comma);
    words = comma == std::string_view::npos ? std::string_view() : words.substr(comma + 1);
    const auto equals = pair.find('=');
    std::string name(pair.substr(0, equals));
    if (name.starts_with('-')) name = tuner::Variation{.name = name}.parameter();  // as the command has it
    const auto* parameter = space.find(name);
    if (equals == std::string_view::npos || parameter == nullptr) {
      std::vector<std::string> names;
      for (const auto& each : space.parameters()) names.push_back(each.name);
      return std::unexpected(fmt::format("there is no parameter '{}'{}", name, space::did_you_mean(name, names)));
    }
    const std::string text(pair.substr(equals + 1));
    const auto value = value_of(*parameter, text);
    if (!value) return std::unexpected(fmt::format("{} is {}, not '{}'", name, parameter->domain_text(), text));
    configuration.set(name, *value);
    named.push_back(name);
  }
  configuration = space.normalise(configuration);
  if (const auto wrong = space.check(configuration); !wrong.empty()) {
    if (auto other = tuner::fitted(space, configuration, named)) return *std::move(other);
    return std::unexpected(fmt::format("'{}' is not allowed: {}", all, wrong.front()));
  }
  return configuration;
}

}  // namespace nocturne::cli
