#pragma once

/// Calibration: what the model of a run predicts against the truth: a recorded space knows every value.
///
/// Asked at some budgets of a run of PrunedSearch (`auto`); asking changes nothing of the run. Configurations are drawn
/// uniformly from the valid ones; those that were measured, or that would fail, do not count.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "search/model/calibration.hpp"
#include "search/pruned_search.hpp"
#include "search/replay/recorded_space.hpp"

namespace nocturne::search::replay {

/// One run at one budget.
struct CalibrationCheck {
  std::size_t evaluations = 0;

  // Counts over uniform draws. A miss counts only if the value is known, that is, if the configuration works.
  model::Coverage search_intervals;  ///< 90 %, of the model that proposes and prunes, widened as its audits ask
  model::Coverage report_intervals;  ///< 90 %, of a model fitted for reports (model::kForReports) to the same trials
  std::size_t pruned = 0;
  std::size_t beat_bound = 0;      ///< pruned ones that are faster than their own optimistic (5 %) bound
  std::size_t beat_incumbent = 0;  ///< pruned ones that are faster than the best told until then
  [[nodiscard]] std::size_t drawn() const { return search_intervals.total(); }

  // What the run knows itself: its audits until then.
  std::size_t audits = 0;
  std::size_t audit_failures = 0;  ///< beat their own bound
  std::size_t audit_misses = 0;    ///< beat the incumbent
  double widening = 1;             ///< factor by which audits have widened pruning's intervals

  /// Whether the optimal value was found; where not, whether all configurations that have it are pruned (of parameters
  /// that do nothing: with the first of their values).
  bool optimum_found = false;
  bool optimum_pruned = false;
};

/// Progress of a run, and the true values of its space.
struct RunState {
  std::size_t evaluations = 0;
  std::uint64_t seed = 0;
  double best = 0;  ///< least true value so far; infinite: none
  std::function<bool(RecordedSpace::Place)> measured;
  std::function<std::optional<double>(RecordedSpace::Place)> truth;  ///< empty: it would fail
  std::span<const space::Trial> told;                                ///< all that the search was told, in order
};

inline constexpr std::size_t kCalibrationDraws = 300;  ///< uniform draws a budget and run: a share is known to ± 0.02

/// Empty: the search knows too little to prune (PrunedSearch::kFirst).
[[nodiscard]] std::optional<CalibrationCheck> check_calibration(PrunedSearch& search, const RecordedSpace& recorded,
                                                                const RunState& run);

}  // namespace nocturne::search::replay
