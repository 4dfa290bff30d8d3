#include "tuner/cli/choice/number_checks.hpp"

#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "space/parse_number.hpp"
#include "tuner/campaign_file/quantity.hpp"

namespace nocturne::cli {
namespace {

template <typename Parsed>
std::string complaint_of(const std::string& text, const Parsed& parsed) {
  return parsed ? "" : fmt::format("'{}' is not {}", text, parsed.error());
}

}  // namespace

NumberCheck whole_number(std::int64_t least, std::int64_t most) {
  return [least, most](const std::string& text) -> std::string {
    const auto number = space::parse_number<std::int64_t>(text);
    if (number && *number >= least && *number <= most) return "";
    if (most == std::numeric_limits<std::int64_t>::max())
      return fmt::format("'{}' is not a whole number, {} or more", text, least);
    return fmt::format("'{}' is not a whole number from {} to {}", text, least, most);
  };
}

NumberCheck positive_number() {
  return [](const std::string& text) -> std::string {
    const auto number = space::parse_number<double>(text);
    return number && std::isfinite(*number) && *number > 0 ? "" : fmt::format("'{}' is not a number above 0", text);
  };
}

NumberCheck number_within(double least, double most) {
  return [least, most](const std::string& text) -> std::string {
    const auto number = space::parse_number<double>(text);
    return number && *number >= least && *number <= most
               ? ""
               : fmt::format("'{}' is not a number from {} to {}", text, least, most);
  };
}

NumberCheck time_span() {
  return [](const std::string& text) { return complaint_of(text, tuner::parse_duration(text)); };
}

NumberCheck byte_size() {
  return [](const std::string& text) { return complaint_of(text, tuner::parse_size(text)); };
}

NumberCheck time_of_day() {
  return [](const std::string& text) { return complaint_of(text, tuner::parse_time_of_day(text)); };
}

}  // namespace nocturne::cli
