#pragma once

/// What the models expect of a configuration at each horizon N of T(N).
///
/// T(N) itself is not additive on a logarithmic scale; its parts are. Where trials have parts, three linear models
/// stand for start-up (import + data + compile + excess of the first step), the overhead of an epoch, and the steps of
/// an epoch (steps_per_epoch · steady_step: the effect of the batch size on both is one effect). They compose to
///
///   T(N) = S + N · (O + W),   log T ≈ log of the parts' medians composed,   (reach of log T)² ≈ Σ share² · (reach of
///   log part)²
///
/// with the shares of the parts in T (the delta method; the parts' errors are independent given the configuration).
/// The reach is how far a quantile lies from the median, each end by itself: a search's models resolve what is slow
/// less (prediction.hpp), so that a slow part may well be slower still, but not as much faster.
/// Without parts, as in recorded spaces, there is one horizon: the objective itself.

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "search/model/linear_model.hpp"
#include "search/model/prediction.hpp"
#include "search/work_bound.hpp"
#include "space/lattice.hpp"
#include "space/objective.hpp"

namespace nocturne::search::model {

/// What is as good as impossible, even of thousands of configurations together.
inline constexpr double kExtreme = 1e-5;

/// Distribution of one observation, in logarithms of seconds: 90 % lie between optimistic and pessimistic.
struct HorizonPrediction {
  double log_mean = 0;
  double log_optimistic = 0;   ///< the 5 % quantile
  double log_pessimistic = 0;  ///< the 95 % quantile
  double log_extreme = 0;      ///< the kExtreme quantile
};

class Forecast {
 public:
  virtual ~Forecast() = default;
  [[nodiscard]] virtual std::size_t horizons() const = 0;
  /// Writes one prediction a horizon. `widening` multiplies the standard deviations.
  virtual void predict_horizons(space::Point point, double widening, std::span<HorizonPrediction> result) = 0;
};

/// One horizon: the model of the objective. The model must outlive it and have trials.
class ObjectiveForecast : public Forecast {
 public:
  explicit ObjectiveForecast(LinearModel& model) : model_(model) {}
  [[nodiscard]] std::size_t horizons() const override { return 1; }
  void predict_horizons(space::Point point, double widening, std::span<HorizonPrediction> result) override;

 private:
  LinearModel& model_;
};

/// A part's prediction, in log seconds, with the number of times it enters T.
struct PartPrediction {
  double times = 1;
  double log_mean = 0;
  double log_reach = 0;  ///< distance of one quantile from the median
};

/// log T and how far the same quantile of it lies from the median. REQUIRES: not empty, times >= 0, one of them
/// positive.
struct LogTime {
  double log_mean = 0;
  double log_reach = 0;
};
[[nodiscard]] LogTime compose(std::span<const PartPrediction> parts);

/// Three models, composed at each horizon. The lattice must outlive it.
class PartsForecast : public Forecast {
 public:
  /// Parts below this are not distinguished: they would be noise on a logarithmic scale, and weigh nothing in T.
  static constexpr double kLeast = 1e-4;  // seconds

  /// `roles`, `bound`: physical covariates for the parts (physics.hpp). `options`: of the three models.
  PartsForecast(space::Lattice& lattice, std::vector<double> horizons, const Roles& roles = {},
                const WorkBound& bound = {}, const LinearModelOptions& options = {});
  void tell(space::Point point, const space::Parts& parts);
  void forget(space::Point point);
  void fit();
  /// Follows fit_is_due(): scales settle, and three fits are expensive.
  void fit_if_due();
  [[nodiscard]] std::size_t size() const { return steps_.size(); }
  [[nodiscard]] std::size_t horizons() const override { return epochs_.size(); }
  /// REQUIRES: size() > 0.
  void predict_horizons(space::Point point, double widening, std::span<HorizonPrediction> result) override;

  [[nodiscard]] LinearModel& overhead() { return overhead_; }
  [[nodiscard]] LinearModel& steps() { return steps_; }

 private:
  std::vector<double> epochs_;
  std::size_t fitted_ = 0;  // trials at the last fit
  LinearModel startup_, overhead_, steps_;
};

}  // namespace nocturne::search::model
