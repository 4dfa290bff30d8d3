#pragma once

/// What a replay shows: per space and over all spaces, how far from the optimum each strategy was at each budget.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "search/replay/random_baseline.hpp"
#include "search/replay/recorded_space.hpp"
#include "search/replay/replay.hpp"

namespace nocturne::search::replay {

/// A run is near the optimum where its best is no more than 5 % slower.
inline constexpr double kNearOptimum = 1.05;

/// Best found / optimum, mean of the runs, after so many evaluations.
struct Cell {
  double ratio = 0;
  std::optional<double> standard_error;  ///< empty: one run does not tell
  double random = 0;                     ///< what random search is expected to have, exactly
  /// One-sided t test of ratio > random at kLevel; also true where the runs agree in being worse.
  bool worse_than_random = false;
};

/// One strategy on one space.
struct SpaceRow {
  std::size_t space = 0;
  std::size_t strategy = 0;
  std::vector<Cell> cells;         ///< one for each budget
  Score score;                     ///< up to Scoreboard::cap evaluations
  Score score_100;                 ///< up to 100
  double median_to_5_percent = 0;  ///< evaluations until within 5 % of the optimum; infinite: not in half of the runs
  double milliseconds = 0;         ///< CPU time of ask and tell an evaluation, mean of all
};

/// One strategy over all spaces.
struct Summary {
  std::size_t strategy = 0;
  std::vector<Cell> cells;  ///< geometric means; the errors by propagation; worse_than_random: of any space
  Score score;              ///< means
  Score score_100;
  double milliseconds = 0;
  std::size_t worse = 0;  ///< cells of spaces that are significantly worse than random search
};

struct Scoreboard {
  /// Level of the test. Among the 72 cells of 18 spaces, random search itself would be flagged 0.7 times.
  static constexpr double kLevel = 0.01;

  std::vector<std::size_t> budgets;  ///< those of 25, 50, 100, 200 within the evaluations of a run; else these alone
  std::size_t cap = 1000;            ///< the score looks at no more evaluations
  std::vector<SpaceRow> rows;        ///< sorted by space, then strategy
  std::vector<Summary> summaries;    ///< one for each strategy
};

/// REQUIRES: the series are those of replay() with these options, all of them.
[[nodiscard]] Scoreboard make_scoreboard(std::span<const RecordedSpace> spaces, const ReplayOptions& options,
                                         std::span<const Series> series, std::size_t cap);

}  // namespace nocturne::search::replay
