#pragma once

/// What several evaluations at once cost a search, and what they save: quality at as many evaluations, and the time
/// until a run is close to the optimum.

#include <cstddef>
#include <span>
#include <vector>

#include "search/replay/recorded_space.hpp"
#include "search/replay/replay.hpp"
#include "search/replay/scoreboard.hpp"

namespace nocturne::search::replay {

/// One strategy with so many slots, over all spaces.
struct SlotsRow {
  std::size_t slots = 1;
  std::size_t strategy = 0;
  /// Best over optimum after `evaluations`: mean over the runs, then geometric mean over the spaces. 1 is the optimum.
  double ratio = 0;
  /// How many times sooner than with the first number of slots a run is close to the optimum (kNearOptimum), by its
  /// mean over the runs; geometric mean over the spaces. A run that never is counts as if it were at its end.
  double sooner = 1;
  std::size_t close = 0, runs = 0;  ///< runs that were, of all
};

/// What replay() gave with these numbers of slots, in that order; the first is what the others are compared with.
struct SlotsRun {
  std::size_t slots = 1;
  std::vector<Series> series;
};
[[nodiscard]] std::vector<SlotsRow> compare_slots(std::span<const RecordedSpace> spaces, std::size_t strategies,
                                                  std::size_t evaluations, std::span<const SlotsRun> runs);

}  // namespace nocturne::search::replay
