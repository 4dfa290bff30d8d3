#include "tuner/campaign_file/quantity.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <ctime>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace nocturne::tuner {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

// Largest first: parse_duration demands this order, duration_text produces it.
constexpr std::array kDurationUnits{Unit{"d", 86400e9}, Unit{"h", 3600e9}, Unit{"min", 60e9}, Unit{"s", 1e9},
                                    Unit{"ms", 1e6}};
constexpr double kKibi = 1024;
constexpr std::array kSizeUnits{Unit{"B", 1},
                                Unit{"kB", 1e3},
                                Unit{"MB", 1e6},
                                Unit{"GB", 1e9},
                                Unit{"TB", 1e12},
                                Unit{"KiB", kKibi},
                                Unit{"MiB", kKibi* kKibi},
                                Unit{"GiB", kKibi* kKibi* kKibi},
                                Unit{"TiB", kKibi* kKibi* kKibi* kKibi}};

constexpr std::string_view kDurationForm =
    "a duration such as \"90s\", \"5min\" or \"1h30min\" (units d, h, min, s, ms)";
constexpr std::string_view kSizeForm = "a size such as \"512MiB\", \"8GiB\" or \"8GB\"";
constexpr double kLongest = 1000.0 * 86400e9;  // a thousand days: a typing error, and far from overflow of nanoseconds
constexpr double kLargest = 9.0e18;            // below the largest int64

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Takes "12" or "2.5" off the front of `text`; empty where there is none.
std::optional<double> take_number(std::string_view& text) {
  std::size_t length = 0;
  while (length < text.size() && (is_digit(text[length]) || text[length] == '.')) ++length;
  double number = 0;
  const auto [end, error] = std::from_chars(text.begin(), text.begin() + length, number, std::chars_format::fixed);
  if (length == 0 || !is_digit(text[0]) || error != std::errc{} || end != text.begin() + length ||
      !is_digit(text[length - 1]))
    return {};
  text.remove_prefix(length);
  return number;
}

std::string_view take_letters(std::string_view& text) {
  std::size_t length = 0;
  while (length < text.size() && ((text[length] | 0x20) >= 'a' && (text[length] | 0x20) <= 'z')) ++length;
  const std::string_view letters = text.substr(0, length);
  text.remove_prefix(length);
  return letters;
}

void skip_spaces(std::string_view& text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
}

}  // namespace

std::expected<std::chrono::nanoseconds, std::string> parse_duration(std::string_view text) {
  const auto wrong = std::unexpected(std::string(kDurationForm));
  double total = 0;
  std::size_t next_unit = 0;  // units before it have been used or passed over
  std::string_view rest = text;
  while (!rest.empty()) {
    const auto number = take_number(rest);
    if (!number) return wrong;
    skip_spaces(rest);
    const std::string_view letters = take_letters(rest);
    const std::string_view unit = letters == "m" ? "min" : letters;
    while (next_unit < kDurationUnits.size() && kDurationUnits[next_unit].name != unit) ++next_unit;
    if (next_unit == kDurationUnits.size()) return wrong;
    total += *number * kDurationUnits[next_unit++].factor;
    skip_spaces(rest);
  }
  if (!(total >= 1e6) || total > kLongest)
    return std::unexpected(std::string(kDurationForm) + ", above zero and at most 1000d");
  return std::chrono::nanoseconds(std::llround(total));
}

std::string duration_text(std::chrono::nanoseconds duration) {
  std::string text;
  std::int64_t rest = duration.count();
  for (const Unit& unit : kDurationUnits) {
    const auto factor = static_cast<std::int64_t>(unit.factor);
    if (const std::int64_t count = rest / factor; count > 0) {
      text += fmt::format("{}{}", count, unit.name);
      rest -= count * factor;
    }
  }
  return text.empty() ? "0s" : text;
}

std::string clock_text(std::chrono::seconds time) {
  return fmt::format("{:02}:{:02}:{:02}", time.count() / 3600, time.count() / 60 % 60, time.count() % 60);
}

std::expected<std::int64_t, std::string> parse_size(std::string_view text) {
  std::string_view rest = text;
  const auto number = take_number(rest);
  skip_spaces(rest);
  const std::string_view unit = take_letters(rest);
  if (!number || !rest.empty()) return std::unexpected(std::string(kSizeForm));
  double factor = unit.empty() ? 1 : 0;
  for (const Unit& known : kSizeUnits)
    if (known.name == unit) factor = known.factor;
  const double bytes = *number * factor;
  if (factor == 0) return std::unexpected(std::string(kSizeForm));
  if (bytes < 1 || bytes > kLargest) return std::unexpected(std::string(kSizeForm) + ", above zero and below 8 EiB");
  return static_cast<std::int64_t>(bytes);
}

std::expected<TimeOfDay, std::string> parse_time_of_day(std::string_view text) {
  const auto wrong = std::unexpected(std::string("a time of day such as \"07:00\" (00:00 to 23:59)"));
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon < 1 || colon > 2 || text.size() != colon + 3) return wrong;
  TimeOfDay time;
  for (const auto& [digits, target] :
       {std::pair{text.substr(0, colon), &time.hour}, {text.substr(colon + 1), &time.minute}}) {
    for (const char c : digits) {
      if (!is_digit(c)) return wrong;
      *target = *target * 10 + (c - '0');
    }
  }
  if (time.hour > 23 || time.minute > 59) return wrong;
  return time;
}

std::chrono::system_clock::time_point next_occurrence(TimeOfDay time, std::chrono::system_clock::time_point now) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm today{};
  localtime_r(&seconds, &today);
  for (int day = 0; day < 3; ++day) {
    std::tm wanted = today;
    wanted.tm_mday += day;  // mktime carries over into the next month
    wanted.tm_hour = time.hour;
    wanted.tm_min = time.minute;
    wanted.tm_sec = 0;
    wanted.tm_isdst = -1;
    const auto moment = std::chrono::system_clock::from_time_t(std::mktime(&wanted));
    if (moment > now) return moment;
  }
  return now + std::chrono::hours(24);  // REACHED only if the clock's calendar is broken
}

}  // namespace nocturne::tuner
