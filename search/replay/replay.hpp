#pragma once

/// Runs strategies on recorded spaces: asked one by one, told what the record says. With several slots so many
/// evaluations are under way at once, and the one that ends first by its recorded cost is told first.
///
/// Each run starts from nothing: the default configuration is not told first. What counts is the number of distinct
/// configurations: asking again for one that was told costs nothing and is told again.

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "search/registry.hpp"
#include "search/replay/calibration.hpp"
#include "search/replay/recorded_space.hpp"

namespace nocturne::search::replay {

/// What strategies are told instead of the truth, decided by run seed and configuration alone. Scores use the truth.
struct Disturbance {
  double noise = 0;     ///< values are multiplied by exp(noise · z), z standard normal
  double outliers = 0;  ///< probability that a value is told ten times as large
  double failures = 0;  ///< probability that a configuration that is ok fails instead; such an evaluation finds nothing
  [[nodiscard]] bool any() const { return noise > 0 || outliers > 0 || failures > 0; }
};

/// Evaluations after which runs are judged.
inline constexpr std::array<std::size_t, 4> kBudgets = {25, 50, 100, 200};

/// What a run on that space with that seed knows of earlier campaigns. Called by several threads at once.
using HistoryOf = std::function<std::vector<History>(const RecordedSpace& space, std::uint64_t seed)>;

struct ReplayOptions {
  std::vector<std::string> strategies;
  std::size_t evaluations = 200;  ///< a run ends there, or when the strategy has nothing left to ask
  std::size_t repeats = 20;       ///< runs a space and strategy, with seeds seed, seed + 1, …
  std::uint64_t seed = 1;
  std::size_t threads = 0;  ///< 0: one a core. The results do not depend on it
  std::size_t slots = 1;    ///< evaluations under way at once, at least 1
  Disturbance disturbance{};
  HistoryOf history{};       ///< what each run is given as a prior; empty: nothing
  bool calibration = false;  ///< at kBudgets, check the calibration of `auto`; takes half as long again
};

/// One run of one strategy on one space.
struct RunTrace {
  std::uint64_t seed = 0;
  std::vector<double> values;                   ///< true objectives in the order of first evaluation; NaN: failed
  std::vector<double> ended{};                  ///< when each was known, from the run's begin, in recorded milliseconds
  double cpu_seconds = 0;                       ///< CPU time of the thread in ask() and tell()
  std::vector<CalibrationCheck> calibration{};  ///< one for each budget, if asked for and possible
};

/// The runs of one strategy on one space, by seed.
struct Series {
  std::size_t space = 0;
  std::size_t strategy = 0;
  std::vector<RunTrace> runs;
};

/// Told after each finished run; calls never overlap, but come from several threads.
using Progress = std::function<void(std::size_t finished, std::size_t all)>;
/// Asked before each run; true ends the replay early.
using Stop = std::function<bool()>;

/// All series, by space and then by strategy. Error: an unknown strategy, one that proposed what is not in the space,
/// or that it was stopped.
[[nodiscard]] std::expected<std::vector<Series>, std::string> replay(std::span<const RecordedSpace> spaces,
                                                                     const ReplayOptions& options,
                                                                     const Progress& progress = {},
                                                                     const Stop& stop = {});

/// A line of JSON a run, in that order: {"space": …, "tuner": …, "seed": …, "values": [number or null, …]}.
[[nodiscard]] std::string trace_lines(std::span<const RecordedSpace> spaces, const ReplayOptions& options,
                                      std::span<const Series> series);

// Past campaigns made of recorded spaces, so that what history is worth can be judged by replay.

/// A history as if someone had measured so many configurations, drawn uniformly, on another machine: it only ranks.
[[nodiscard]] History sampled_campaign(const RecordedSpace& recorded, std::size_t trials, std::uint64_t seed);

/// A history as if `auto` had run on this very space before, with a seed of its own that follows from `seed`.
[[nodiscard]] History earlier_campaign(const RecordedSpace& recorded, std::size_t trials, std::uint64_t seed);

}  // namespace nocturne::search::replay
