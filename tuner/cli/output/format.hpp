#pragma once

/// Numbers, times and texts as people read them, and their colours. Pure functions, except for the time zone of
/// time_text().

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "space/objective.hpp"

namespace nocturne::cli {

/// Three significant digits and a unit that fits: "850 µs", "47.1 ms", "12.3 s", "2 min 05 s", "1 h 30 min".
[[nodiscard]] std::string seconds_text(double seconds);
[[nodiscard]] std::string nanoseconds_text(std::chrono::nanoseconds duration);
/// Value and standard error with the error's two digits deciding how many are shown: "12.34 ± 0.05 s". Without
/// the error where that is less than a ten-thousandth.
[[nodiscard]] std::string seconds_with_error(double seconds, double standard_error);
/// "1 epoch", "12 epochs".
[[nodiscard]] std::string epochs_text(double epochs);
/// What a horizon of this objective is: a number of epochs, or a training to the target.
[[nodiscard]] std::string horizon_text(const space::Objective& objective, double epochs);
/// Powers of 1024: "700 B", "1.5 GiB".
[[nodiscard]] std::string bytes_text(std::int64_t bytes);
/// "24.1 %" from 0.241.
[[nodiscard]] std::string percent_text(double share);
/// Local time: "2024-05-31 21:03".
[[nodiscard]] std::string time_text(std::int64_t unix_ns);
/// UTC as RFC 3339: "2024-05-31T19:03:12Z".
[[nodiscard]] std::string utc_text(std::int64_t unix_ns);

/// One block character (▁ to █) for each value, lowest to highest of the finite ones; where there are more values than
/// `width`, each stands for the mean of its neighbours. Empty for no values.
[[nodiscard]] std::string sparkline(std::span<const double> values, std::size_t width);

/// Number of characters that a terminal shows for UTF-8 text without combining or wide ones.
[[nodiscard]] std::size_t display_width(std::string_view text);
/// At most `width` characters, the last an ellipsis where something was cut.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t width);
/// Text from elsewhere, made safe for a terminal: control characters (C0, DEL, C1) but newline and tab shown as \xNN.
[[nodiscard]] std::string printable(std::string_view text);
/// The same on one line: newlines and tabs become spaces.
[[nodiscard]] std::string one_line(std::string_view text);

/// Colours for a terminal, nothing elsewhere (Context::colour_out says which).
enum class Style { Plain, Good, Bad, Warning, Faint, Strong };

/// Text in that style, by ANSI escape sequences (ECMA-48, SGR), or as it is where `enabled` is false.
[[nodiscard]] std::string coloured(std::string_view text, Style style, bool enabled);

}  // namespace nocturne::cli
