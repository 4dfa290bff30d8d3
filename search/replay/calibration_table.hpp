#pragma once

/// Calibration of all runs together, per space and over all spaces.

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "search/model/audit.hpp"
#include "search/replay/recorded_space.hpp"
#include "search/replay/replay.hpp"

namespace nocturne::search::replay {

/// A mean of runs (or of spaces).
struct Mean {
  double value = 0;
  std::optional<double> standard_error{};  ///< empty: one of them does not tell
  std::size_t count = 0;                   ///< 0: nothing was there to be counted, the value says nothing
};

/// One space, or all of them: then means of the spaces' means, with the runs' errors propagated.
struct CalibrationCell {
  std::size_t evaluations = 0;
  std::size_t runs = 0;  ///< runs that got so far and knew enough to prune

  Mean search_coverage;  ///< share within the 90 % intervals that pruning rests on
  Mean search_below;     ///< share that was faster than them
  Mean report_coverage;  ///< share within the 90 % intervals of a model fitted for reports
  Mean pruned;           ///< share of the configurations
  Mean beat_bound;       ///< share of the pruned that is faster than its bound; nominally 5 %
  Mean beat_incumbent;   ///< share of the pruned that is faster than the best measured then

  // Sums over the runs.
  std::size_t audits = 0, audit_failures = 0, audit_misses = 0;
  std::size_t optimum_found = 0, optimum_pruned = 0;

  /// What audits say of `failures` or `misses` in all runs together; upper: 95 %, one-sided (Clopper and Pearson).
  [[nodiscard]] model::ShareInterval failure_rate() const { return model::clopper_pearson(audit_failures, audits); }
  [[nodiscard]] model::ShareInterval miss_rate() const { return model::clopper_pearson(audit_misses, audits); }
  /// What a single run sees: its own upper 95 % bound of the share of the pruned that would beat the incumbent.
  Mean own_miss_bound;
};

struct CalibrationRow {
  std::size_t space = 0;
  std::size_t strategy = 0;
  std::vector<CalibrationCell> cells;  ///< one for each budget
};

struct CalibrationTable {
  std::vector<std::size_t> budgets;
  std::vector<CalibrationRow> rows;  ///< sorted by space, then strategy; only strategies that predict
  std::vector<CalibrationRow> all;   ///< one for each strategy, over the spaces in rows
};

/// REQUIRES: the series are those of replay() with these options.
[[nodiscard]] CalibrationTable make_calibration_table(const ReplayOptions& options, std::span<const Series> series);

}  // namespace nocturne::search::replay
