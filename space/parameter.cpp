#include "space/parameter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "space/names.hpp"

namespace nocturne::space {
namespace {

constexpr std::array<std::string_view, 5> kKinds = {"boolean", "integer", "real", "ordinal", "categorical"};

double clamp_unit(double unit) {
  return unit >= 0 ? std::min(unit, 1.0) : 0.0;
}  // NaN becomes 0

/// Power of ten of a linear range's decimal grid: at least 10⁹ steps from end to end.
int quantum_exponent(double lower, double upper) {
  return static_cast<int>(std::floor(std::log10(upper - lower))) - 9;
}

/// The double nearest to a decimal. Text is the only way to it that is exact everywhere.
double decimal(const std::string& text) {
  double number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

std::string_view to_text(Kind kind) {
  return name_of(kind, kKinds);
}

std::uint64_t Parameter::size() const {
  return kind == Kind::Integer ? steps : values.size();
}

Value Parameter::value(std::uint64_t index) const {
  if (kind != Kind::Integer) return values[index];
  // Unsigned arithmetic wraps; the true result is in range.
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(lower) + static_cast<std::uint64_t>(step) * index);
}

std::optional<std::uint64_t> Parameter::index_of(const Value& wanted) const {
  if (kind == Kind::Integer) {
    const auto* number = std::get_if<std::int64_t>(&wanted);
    if (number == nullptr || *number < lower) return std::nullopt;
    const auto distance = static_cast<std::uint64_t>(*number) - static_cast<std::uint64_t>(lower);
    const auto stride = static_cast<std::uint64_t>(step);
    if (distance % stride != 0 || distance / stride >= steps) return std::nullopt;
    return distance / stride;
  }
  const auto found = std::ranges::find(values, wanted);
  if (found == values.end()) return std::nullopt;
  return static_cast<std::uint64_t>(found - values.begin());
}

bool Parameter::contains(const Value& wanted) const {
  if (kind != Kind::Real) return index_of(wanted).has_value();
  const auto* number = std::get_if<double>(&wanted);
  return number != nullptr && *number >= real_lower && *number <= real_upper;
}

double Parameter::to_unit(double number) const {
  const double first = kind == Kind::Real ? real_lower : static_cast<double>(lower);
  const double last = kind == Kind::Real ? real_upper : static_cast<double>(std::get<std::int64_t>(value(steps - 1)));
  if (last <= first) return 0;
  if (logarithmic) {
    if (std::isfinite(last / first)) return clamp_unit(std::log(number / first) / std::log(last / first));
    return clamp_unit((std::log(number) - std::log(first)) / (std::log(last) - std::log(first)));
  }
  return clamp_unit((number - first) / (last - first));
}

double Parameter::real_from_unit(double position) const {
  const double share = clamp_unit(position);
  if (logarithmic) {
    const double ratio = real_upper / real_lower;
    if (std::isfinite(ratio)) return round(real_lower * std::pow(ratio, share));
    return round(std::exp(std::log(real_lower) * (1 - share) + std::log(real_upper) * share));
  }
  return round(real_lower + (real_upper - real_lower) * share);
}

double Parameter::quantum() const {
  if (real_upper <= real_lower) return 0;
  return decimal(fmt::format("1e{}", quantum_exponent(real_lower, real_upper)));
}

double Parameter::round(double number) const {
  if (real_upper <= real_lower) return real_lower;
  double rounded = number;
  if (logarithmic) {
    rounded = decimal(fmt::format("{:.8e}", number));
  } else {
    const int exponent = quantum_exponent(real_lower, real_upper);
    // fmt rounds correctly to any decimal place; coarse grids (exponent > 0) have none to round to.
    rounded =
        exponent < 0 ? decimal(fmt::format("{:.{}f}", number, -exponent)) : std::round(number / quantum()) * quantum();
  }
  return std::clamp(rounded, real_lower, real_upper);
}

std::string Parameter::domain_text() const {
  const std::string_view scale = logarithmic ? " (logarithmic)" : "";
  if (kind == Kind::Integer) {
    const auto by = step == 1 ? "" : fmt::format(" in steps of {}", step);
    return fmt::format("integer {} to {}{}{}", lower, space::to_text(value(steps - 1)), by, scale);
  }
  if (kind == Kind::Real) {
    return fmt::format("number {} to {}{}", space::to_text(Value(real_lower)), space::to_text(Value(real_upper)),
                       scale);
  }
  std::string text = values.size() == 1 ? "only " : "one of ";
  for (std::size_t i = 0; i < values.size(); ++i) text += (i == 0 ? "" : ", ") + space::to_text(values[i]);
  return text;
}

nlohmann::json Parameter::to_json() const {
  nlohmann::json document = {{"name", name},
                             {"stage", space::to_text(stage)},
                             {"type", space::to_text(kind)},
                             {"default", space::to_json(default_value)}};
  if (kind == Kind::Integer) {
    document["range"] = {space::to_json(value(0)), space::to_json(value(steps - 1))};
    if (step != 1) document["step"] = step;
  } else if (kind == Kind::Real) {
    document["range"] = {real_lower, real_upper};
  } else {
    for (const auto& each : values) document["values"].push_back(space::to_json(each));
  }
  if (logarithmic) document["logarithmic"] = true;
  if (!unit.empty()) document["unit"] = unit;
  if (!description.empty()) document["description"] = description;
  if (!active_if.empty()) document["active_if"] = active_if;
  return document;
}

}  // namespace nocturne::space
