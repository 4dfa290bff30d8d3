#include "tuner/campaign_file/parameter_section.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace nocturne::tuner {
namespace {

using Json = nlohmann::json;

/// Which keys go with a type; the others contradict it.
struct TypeRule {
  std::string_view type;
  std::string_view domain;  ///< the key that must be there, or empty
  bool step, scale;
};
constexpr std::array kRules = {TypeRule{"boolean", "", false, false}, TypeRule{"integer", "range", true, true},
                               TypeRule{"real", "range", false, true}, TypeRule{"ordinal", "values", false, false},
                               TypeRule{"categorical", "values", false, false}};

/// See `type` in the schema; empty where neither values nor range nor type is given.
std::string_view type_of(const Json& parameter) {
  if (parameter.contains("type")) return parameter["type"].get_ref<const std::string&>();
  if (parameter.contains("values")) {
    const bool numbers = std::ranges::all_of(parameter["values"], [](const Json& value) { return value.is_number(); });
    return numbers ? "ordinal" : "categorical";
  }
  if (!parameter.contains("range")) return "";
  const bool decimal =
      std::ranges::any_of(parameter["range"], [](const Json& bound) { return bound.is_number_float(); });
  return decimal ? "real" : "integer";
}

bool fits_64_bits(Checks& checks, const std::string& pointer, const Json& value) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() <= static_cast<std::uint64_t>(INT64_MAX)) return true;
  checks.add(pointer, "found " + shown(value), fmt::format("whole numbers up to {}", INT64_MAX));
  return false;
}

/// Numbers of this parameter that no 64-bit integer holds.
bool numbers_fit(Checks& checks, const std::string& pointer, const Json& parameter) {
  bool fit = true;
  for (const std::string_view key : {"values", "range"}) {
    if (!parameter.contains(key)) continue;
    const Json& list = parameter.at(std::string(key));
    for (std::size_t i = 0; i < list.size(); ++i)
      fit &= fits_64_bits(checks, pointer_to(pointer_to(pointer, key), i), list[i]);
  }
  for (const std::string_view key : {"step", "default"})
    if (parameter.contains(key)) fit &= fits_64_bits(checks, pointer_to(pointer, key), parameter.at(std::string(key)));
  return fit;
}

bool keys_fit(Checks& checks, const std::string& pointer, const Json& parameter, const TypeRule& rule) {
  bool fit = true;
  if (!rule.domain.empty() && !parameter.contains(rule.domain)) {
    checks.add(pointer, fmt::format("type '{}' without '{}'", rule.type, rule.domain),
               fmt::format("'{}'", rule.domain));
    fit = false;
  }
  const std::array allowed = {std::pair{std::string_view("values"), rule.domain == "values"},
                              std::pair{std::string_view("range"), rule.domain == "range"},
                              std::pair{std::string_view("step"), rule.step},
                              std::pair{std::string_view("scale"), rule.scale}};
  for (const auto& [key, fits] : allowed) {
    if (fits || !parameter.contains(key)) continue;
    const std::string_view instead = key == "step"    ? "with an integer range only"
                                     : key == "scale" ? "with a range only"
                                                      : "either values, or range, or type boolean";
    checks.add(pointer_to(pointer, key), fmt::format("'{}' does not go with type '{}'", key, rule.type),
               std::string(instead), {}, At::Key);
    fit = false;
  }
  return fit;
}

space::Bound bound_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_integer()) return value.get<std::int64_t>();
  return value.get<double>();
}

std::vector<space::Value> values_of(const Json& list) {
  std::vector<space::Value> values;
  for (const Json& value : list) values.push_back(space::value_from_json(value));
  return values;
}

space::DomainSpec domain_of(const Json& parameter, std::string_view type) {
  const bool logarithmic = parameter.value("scale", "linear") == "logarithmic";
  if (type == "ordinal") return space::OrdinalSpec{values_of(parameter.at("values"))};
  if (type == "categorical") return space::CategoricalSpec{values_of(parameter.at("values"))};
  if (type == "boolean") return space::BooleanSpec{};
  const space::Bound lower = bound_of(parameter.at("range").at(0)), upper = bound_of(parameter.at("range").at(1));
  if (type == "real") return space::RealRangeSpec{lower, upper, logarithmic};
  return space::IntegerRangeSpec{lower, upper, bound_of(parameter.value("step", Json(1))), logarithmic};
}

}  // namespace

std::optional<space::ParameterSpec> parameter_spec(Checks& checks, const std::string& pointer, const Json& parameter) {
  const std::string_view type = type_of(parameter);
  if (type.empty()) {
    checks.add(pointer, "neither 'values' nor 'range' nor 'type'", "values, or range, or \"type\": \"boolean\"");
    return std::nullopt;
  }
  const auto* const rule = std::ranges::find(kRules, type, &TypeRule::type);
  if (rule == kRules.end()) return std::nullopt;  // of a stored one: the schema refuses it in a file
  const bool keys = keys_fit(checks, pointer, parameter, *rule);
  if (!numbers_fit(checks, pointer, parameter) || !keys) return std::nullopt;
  space::ParameterSpec spec{.name = parameter.at("name").get<std::string>(),
                            .stage = space::stage_from_text(parameter.at("stage").get<std::string>()).value(),
                            .domain = domain_of(parameter, type),
                            .unit = parameter.value("unit", ""),
                            .description = parameter.value("description", ""),
                            .active_if = parameter.value("active_if", "")};
  if (parameter.contains("default")) spec.default_value = space::value_from_json(parameter.at("default"));
  return spec;
}

}  // namespace nocturne::tuner
