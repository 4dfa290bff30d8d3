#pragma once

/// What a change of one parameter does, all else as equal as the space allows.
///
/// Where parameters depend on each other an effect cannot be read from the model's own terms: the flags of a compiler
/// exist only for one framework, so that "no flag" and "another framework" are the same trials. A change is what a
/// user would do instead: another level, and with it what that activates (by its default) or deactivates. Where a
/// constraint forbids just that, one more parameter is changed, too.

#include <cstddef>
#include <optional>
#include <vector>

#include "search/model/horizon_prediction.hpp"
#include "search/model/linear_model.hpp"
#include "search/model/prediction.hpp"
#include "space/lattice.hpp"

namespace nocturne::search::model {

/// The valid point that has this level and otherwise what `point` has: its defaults where something becomes active, and
/// `others` more parameters changed at most (0 or 1; to their defaults rather than to another level). Empty: there is
/// none, or the parameter is not active in `point`.
[[nodiscard]] std::optional<std::vector<space::Level>> with_level(space::Lattice& lattice, space::Point point,
                                                                  std::size_t parameter, space::Level level,
                                                                  int others);

struct ChangeOptions {
  double confidence = 0.9;  ///< confidence of the intervals
  double process_sd = 0;    ///< measured between-process sd, log units; lower bound of the model's noise
};

/// One level of a parameter instead of another.
struct LevelChange {
  std::size_t parameter = 0;
  space::Level level = 0;
  std::size_t trials = 0;  ///< number of trials with this level
  double mean = 0;         ///< log units; below 0: faster
  Interval interval;       ///< simultaneous over all levels of the parameter
  /// The configuration with that level that was compared with the point; empty: an average over many.
  std::vector<space::Level> changed{};
};

/// Intervals of changes rest on more than the model's posterior, which takes its scales for known: the noise of the
/// runs that had each level (few runs: few degrees of freedom), how far one run alone moves the mean (a disturbed
/// process that interactions have taken for an effect), and how many levels are looked at together (Bonferroni). From
/// one configuration they also allow for what it and the changed one have to themselves, beyond effects of levels and
/// of pairs: what their own trials leave unexplained may be theirs rather than noise, and more trials elsewhere do not
/// narrow that.
/// Calibrated on drawn campaigns: tests/search/model/changes_coverage_test.cpp.

/// Changes one parameter of a point: each other level that a trial had, of each parameter that is active there.
/// REQUIRES: model.size() > 0 (here and below).
[[nodiscard]] std::vector<LevelChange> changes_from(LinearModel& model, space::Lattice& lattice, space::Point point,
                                                    const ChangeOptions& options = {});

/// Compares each level of one parameter that a trial had with `reference`: the mean over configurations, drawn
/// uniformly and the same each time, in which both levels are possible.
[[nodiscard]] std::vector<LevelChange> average_changes(LinearModel& model, space::Lattice& lattice,
                                                       std::size_t parameter, space::Level reference,
                                                       const ChangeOptions& options = {});

/// What one level of a parameter does where another parameter has one level rather than its reference: beyond both
/// effects.
struct JointChange {
  space::Level first = 0, second = 0;
  std::size_t trials = 0;  ///< of the least tried of the four combinations
  double mean = 0;         ///< log units; below 0: it takes less time there
  Interval interval;       ///< simultaneous over all combinations of the two parameters
};

/// The difference of differences [y(a, b) − y(a₀, b)] − [y(a, b₀) − y(a₀, b₀)], on average over configurations, drawn
/// uniformly and the same each time, in which all four are possible and nothing else differs. Combinations of which
/// each of the four had kFewestTogether trials at least: what fewer processes did may be theirs.
inline constexpr std::size_t kFewestTogether = 3;
[[nodiscard]] std::vector<JointChange> joint_changes(LinearModel& model, space::Lattice& lattice, std::size_t first,
                                                     std::size_t second, const ChangeOptions& options = {});

/// What any configuration takes against one point, in log units, with the intervals of average changes: so that Pruning
/// (with a log_best of 0) rules out by the same evidence. Where a level of an unordered parameter was never tried,
/// nothing is known and the ends are infinite; neighbours speak for a level of an ordered one.
class ChangeForecast : public Forecast {
 public:
  /// Model, lattice and the point's levels must outlive it. REQUIRES: model.size() > 0.
  ChangeForecast(LinearModel& model, const space::Lattice& lattice, space::Point point, const ChangeOptions& options);
  [[nodiscard]] std::size_t horizons() const override { return 1; }
  /// Optimistic and pessimistic end: of the interval for all levels of a parameter together.
  void predict_horizons(space::Point point, double widening, std::span<HorizonPrediction> result) override;

 private:
  /// What the trials say of one level.
  struct Evidence {
    std::size_t trials = 0;  ///< that had it, or, of an ordered parameter, a level next to it
    bool tried = false;
  };
  LinearModel& model_;
  space::Point point_;
  ChangeOptions options_;
  std::vector<std::vector<Evidence>> evidence_;  ///< by parameter and level
  std::vector<std::size_t> others_;              ///< levels of each parameter beside one that trials had, 1 at least
};

}  // namespace nocturne::search::model
