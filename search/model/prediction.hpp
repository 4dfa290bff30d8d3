#pragma once

/// What a model expects of a configuration. Logarithms are natural.

#include "search/model/target.hpp"

namespace nocturne::search::model {

struct Interval {
  double lower = 0;
  double upper = 0;
  [[nodiscard]] bool contains(double value) const { return lower <= value && value <= upper; }
};

/// A Student t distribution in the model's own units, which `target` takes back to logarithms of the objective.
struct Prediction {
  double mean = 0;         ///< model units
  double latent_sd = 0;    ///< standard deviation of the time that the configuration truly takes
  double observed_sd = 0;  ///< standard deviation of one more observation
  double degrees = 30;     ///< degrees of freedom
  double widening = 1;     ///< factor of both sd in intervals, learnt from how well past predictions held
  Target target;

  [[nodiscard]] double log_mean() const { return target.to_log(mean); }  ///< the median
  /// Log of the objective that one observation stays below with this probability; `extra` widens further (an audit
  /// that found the intervals too narrow).
  [[nodiscard]] double log_quantile(double probability, double extra = 1) const;
  /// Central: log_quantile((1 ± confidence) / 2).
  [[nodiscard]] Interval log_interval(double confidence, double extra = 1) const;
  /// Standard deviation near the mean, in log units.
  [[nodiscard]] double log_observed_sd() const;
};

}  // namespace nocturne::search::model
