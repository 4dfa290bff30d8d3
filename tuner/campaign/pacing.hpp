#pragma once

/// When to stop searching, so that what must come after still fits. Pure: no clock.

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "space/objective.hpp"
#include "tuner/campaign_file.hpp"

namespace nocturne::tuner {

/// Share of a budget of time that is kept for measuring the best and the default again, at least.
inline constexpr double kReservedShare = 0.15;
/// And at most: a search that has no time finds nothing worth measuring again.
inline constexpr double kLargestReservedShare = 0.6;

struct PaceState {
  std::int64_t finished_trials = 0;
  std::chrono::nanoseconds spent{};         ///< by the search, in all sittings
  std::chrono::nanoseconds sitting{};       ///< since this sitting began
  std::optional<std::chrono::nanoseconds> until_left;  ///< until the time of day the campaign names
  std::chrono::nanoseconds next_trial{};    ///< expected
  std::chrono::nanoseconds finals{};        ///< forecast of what comes after the search
};

/// Why the search ends, in words; empty: another trial fits.
[[nodiscard]] std::optional<std::string> search_ends(const Budget& budget, const PaceState& state);

/// Time left for the search and what comes after it together; empty: not bounded by time.
[[nodiscard]] std::optional<std::chrono::nanoseconds> time_left(const Budget& budget, const PaceState& state);

/// What one more trial will take: the mean of those before, of the last 20 at most. None before: zero.
[[nodiscard]] std::chrono::nanoseconds expected_trial(std::span<const std::chrono::nanoseconds> durations);

/// How long the pairs and the epochs for the accuracy will take, from the parts of both. `best` may be the default.
[[nodiscard]] std::chrono::nanoseconds forecast_finals(const VerifySettings& verify, const space::Parts& baseline,
                                                       const space::Parts& best);

/// Steps a turn of each side, so that turns of both last about equally long: `verify.slice_steps` for the slower side,
/// more for the faster one.
struct SliceSteps {
  std::int64_t baseline = 1, candidate = 1;
};
[[nodiscard]] SliceSteps slice_steps(const VerifySettings& verify, const space::Parts& baseline,
                                     const space::Parts& candidate);

}  // namespace nocturne::tuner
