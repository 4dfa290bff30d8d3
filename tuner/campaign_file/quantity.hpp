#pragma once

/// Durations, sizes and times of day as people write them. Pure functions, no clock.

#include <chrono>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "space/budget.hpp"

namespace nocturne::tuner {

using TimeOfDay = space::TimeOfDay;

/// "90s", "5min", "1h30min", "2.5h", "1d", "250ms": numbers with units d, h, min (or m), s, ms, largest first, each
/// once, above zero.
[[nodiscard]] std::expected<std::chrono::nanoseconds, std::string> parse_duration(std::string_view text);
/// The shortest text that parse_duration reads back, to the millisecond: "1h30min".
[[nodiscard]] std::string duration_text(std::chrono::nanoseconds duration);

/// "08:30:00" as schedulers have it: hours without limit.
[[nodiscard]] std::string clock_text(std::chrono::seconds time);

/// "512MiB", "8GiB", "8GB", "1000000" : a number with B, kB, MB, GB, TB (powers of 1000), KiB, MiB, GiB, TiB (of 1024).
[[nodiscard]] std::expected<std::int64_t, std::string> parse_size(std::string_view text);

/// "07:00", "7:00", "23:59".
[[nodiscard]] std::expected<TimeOfDay, std::string> parse_time_of_day(std::string_view text);

/// The first moment strictly after `now` at which the local clock shows `time`. Where summer time skips it or
/// repeats it, whichever moment the C library's mktime chooses.
[[nodiscard]] std::chrono::system_clock::time_point next_occurrence(TimeOfDay time,
                                                                    std::chrono::system_clock::time_point now);

}  // namespace nocturne::tuner
