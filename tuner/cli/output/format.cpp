#include "tuner/cli/output/format.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <limits>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace nocturne::cli {
namespace {

/// Three significant digits, without an exponent: 4.71, 47.1, 471.
std::string three_digits(double value) {
  const double size = std::abs(value);
  const int decimals = size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f}", value, decimals);
}

std::tm broken_down(std::int64_t unix_ns, bool local) {
  const auto seconds = static_cast<std::time_t>(unix_ns / 1'000'000'000);
  std::tm parts{};
  local ? localtime_r(&seconds, &parts) : gmtime_r(&seconds, &parts);
  return parts;
}

std::string_view code(Style style) {
  switch (style) {
    case Style::Plain:
      return "";
    case Style::Good:
      return "32";
    case Style::Bad:
      return "31";
    case Style::Warning:
      return "33";
    case Style::Faint:
      return "2";
    case Style::Strong:
      return "1";
  }
  return "";
}

}  // namespace

std::string seconds_text(double seconds) {
  const double size = std::abs(seconds);
  if (!std::isfinite(seconds)) return "unknown";
  if (seconds == 0) return "0 s";
  if (size < 1e-6) return three_digits(seconds * 1e9) + " ns";
  if (size < 1e-3) return three_digits(seconds * 1e6) + " µs";
  if (size < 0.9995) return three_digits(seconds * 1e3) + " ms";
  if (size < 119.5) return three_digits(seconds) + " s";
  const auto whole = static_cast<std::int64_t>(std::llround(size));
  const std::string_view sign = seconds < 0 ? "-" : "";
  if (whole < 3600) return fmt::format("{}{} min {:02} s", sign, whole / 60, whole % 60);
  const std::int64_t minutes = (whole + 30) / 60;
  return fmt::format("{}{} h {:02} min", sign, minutes / 60, minutes % 60);
}

std::string nanoseconds_text(std::chrono::nanoseconds duration) {
  return seconds_text(std::chrono::duration<double>(duration).count());
}

std::string seconds_with_error(double seconds, double standard_error) {
  constexpr double kLeastShare = 1e-4;  // a smaller error is none to a reader, and would ask for digits by the dozen
  if (!std::isfinite(standard_error) || standard_error <= kLeastShare * std::abs(seconds)) return seconds_text(seconds);
  struct Unit {
    double scale;
    std::string_view name;
  };
  const Unit unit = std::abs(seconds) < 1e-3 ? Unit{1e6, "µs"} : std::abs(seconds) < 1 ? Unit{1e3, "ms"} : Unit{1, "s"};
  const double error = standard_error * unit.scale;
  const int decimals = std::clamp(1 - static_cast<int>(std::floor(std::log10(error))), 0, 6);
  return fmt::format("{:.{}f} ± {:.{}f} {}", seconds * unit.scale, decimals, error, decimals, unit.name);
}

std::string epochs_text(double epochs) {
  return epochs == 1 ? "1 epoch" : fmt::format("{:g} epochs", epochs);
}

std::string horizon_text(const space::Objective& objective, double epochs) {
  return objective.target ? "a training to the target" : epochs_text(epochs);
}

std::string bytes_text(std::int64_t bytes) {
  constexpr std::array<std::string_view, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (std::abs(value) >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string percent_text(double share) {
  return fmt::format("{:.1f} %", share * 100);
}

std::string time_text(std::int64_t unix_ns) {
  return fmt::format("{:%Y-%m-%d %H:%M}", broken_down(unix_ns, true));
}

std::string utc_text(std::int64_t unix_ns) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", broken_down(unix_ns, false));
}

std::string sparkline(std::span<const double> values, std::size_t width) {
  if (values.empty() || width == 0) return "";
  const std::size_t cells = std::min(width, values.size());
  std::vector<double> means(cells, std::numeric_limits<double>::quiet_NaN());
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (std::size_t cell = 0; cell < cells; ++cell) {
    const std::size_t begin = cell * values.size() / cells;
    const std::size_t end = (cell + 1) * values.size() / cells;
    double sum = 0;
    std::size_t count = 0;
    for (const double value : values.subspan(begin, end - begin)) {
      if (std::isfinite(value)) {
        sum += value;
        ++count;
      }
    }
    if (count > 0) {
      means[cell] = sum / static_cast<double>(count);
      low = std::min(low, means[cell]);
      high = std::max(high, means[cell]);
    }
  }
  constexpr std::array<std::string_view, 8> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string text;
  for (const double mean : means) {
    if (!std::isfinite(mean)) {
      text += ' ';
      continue;
    }
    const double place = high > low ? (mean - low) / (high - low) * 7.999 : 0;
    text += kBlocks[static_cast<std::size_t>(place)];
  }
  return text;
}

std::size_t display_width(std::string_view text) {
  // A byte 10xxxxxx continues a character.
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }));
}

std::string shortened(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  std::string kept;
  std::size_t characters = 0;
  for (const char byte : text) {
    if ((static_cast<unsigned char>(byte) & 0xC0U) != 0x80U && ++characters >= width) break;
    kept += byte;
  }
  return kept + "…";
}

std::string printable(std::string_view text) {
  std::string safe;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto code = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0;
    if ((code < 0x20 && text[i] != '\n' && text[i] != '\t') || code == 0x7F) {
      safe += fmt::format("\\x{:02X}", code);
    } else if (code == 0xC2 && next >= 0x80 && next < 0xA0) {
      // U+0080 to U+009F, among them a second way to begin an escape sequence
      safe += fmt::format("\\x{:02X}", next);
      ++i;
    } else {
      safe += text[i];
    }
  }
  return safe;
}

std::string one_line(std::string_view text) {
  std::string line = printable(text);
  std::ranges::replace_if(line, [](char byte) { return byte == '\n' || byte == '\t'; }, ' ');
  while (line.ends_with(' ')) line.pop_back();
  return line;
}

std::string coloured(std::string_view text, Style style, bool enabled) {
  if (!enabled || style == Style::Plain || text.empty()) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", code(style), text);
}

}  // namespace nocturne::cli
