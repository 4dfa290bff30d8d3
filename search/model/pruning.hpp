#pragma once

/// What need not be measured: configurations, and whole levels of stages that cost minutes, that lose even if all goes
/// well.
///
/// A configuration is *pruned* where the extreme end of its predictive distribution (1e-5; prediction.hpp) is slower
/// than the best measured value, at every horizon; one that may win at any horizon is not. Its *margin* is how much
/// slower, in log units, at the horizon where it comes nearest: pruned means margin > 0. At the 5 % end one in twenty
/// of thousands would be ruled out wrongly, and the best of them all is the first to be. Audits test the 5 % end: it
/// can be tested.
///
/// A level (a framework, a compiler) is pruned where no configuration found with it is optimistically (5 %) as fast as
/// the incumbent. The best one is looked for from good trials moved to that level and from random points, downhill over
/// all other parameters; since it is the most hopeful of many, the prediction for the level is the more cautious.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "search/model/horizon_prediction.hpp"
#include "space/lattice.hpp"
#include "space/random.hpp"

namespace nocturne::search::model {

struct PrunedLevel {
  std::size_t parameter = 0;
  space::Level level = 0;
  double margin = 0;  ///< by how much its most hopeful configuration loses at its optimistic end; log units, > 0
};

/// Cheap to make: one for each state of the models. The forecast must outlive it.
class Pruning {
 public:
  /// `log_best`: the least measured log T at each horizon; as many as the forecast has horizons.
  Pruning(Forecast& forecast, std::vector<double> log_best, double widening);

  [[nodiscard]] double margin(space::Point point);
  [[nodiscard]] bool pruned(space::Point point) { return margin(point) > 0; }

  /// Levels of the parameters of stage Environment and Build that are pruned as such, from `starts` (good trials
  /// first). Never the level of the best of them.
  [[nodiscard]] std::vector<PrunedLevel> levels(space::Lattice& lattice, const space::PointList& starts,
                                                space::Random& random);

 private:
  [[nodiscard]] double least(space::Point point, double HorizonPrediction::* end);
  [[nodiscard]] std::optional<double> most_hopeful(space::Lattice& lattice, const space::PointList& starts,
                                                   space::Random& random, std::size_t parameter, space::Level level);

  Forecast& forecast_;
  std::vector<double> log_best_;
  double widening_;
  std::vector<HorizonPrediction> prediction_;
};

/// "framework=tensorflow-1.14 pruned: at best 31 % slower (5 % optimistic bound) than the incumbent at 1, 12 and 90
/// epochs". Without horizons the epochs are left out.
[[nodiscard]] std::string to_text(const PrunedLevel& level, const space::Lattice& lattice,
                                  std::span<const double> horizons);

/// "1, 12 and 90 epochs", "1 epoch".
[[nodiscard]] std::string epochs_text(std::span<const double> horizons);

}  // namespace nocturne::search::model
