#pragma once

/// What a model expects of a configuration. Logarithms are natural.

#include <span>
#include <string>

namespace nocturne::search::model {

// How an objective becomes what the model predicts: its logarithm, bent above a knee, standardised.
//
// Ratios are what tuning is about, and effects of parameters multiply: so the logarithm. Configurations far slower
// than most need not be distinguished, and must not bend the rest: above the knee m the logarithm l continues as
// m + s · log(1 + (l - m) / s), s = m - best. It is monotone and smooth, so that intervals go back through its
// inverse; what a ×10 outlier adds is bounded by its own logarithm. A low knee serves a search, a high one a report.

/// A value: the mapping and its inverse.
struct Target {
  double knee = 0;      ///< log units
  double softness = 1;  ///< s, log units
  double centre = 0;    ///< mean of the bent values
  double scale = 1;     ///< likewise; log units below the knee

  /// The knee is that quantile of the values (not the best one, where there are two). REQUIRES: at least one value, all
  /// finite, ascending; quantile in [0, 1].
  [[nodiscard]] static Target fit(std::span<const double> log_values, double knee_quantile = 0.5);
  [[nodiscard]] double to_model(double log_value) const;
  [[nodiscard]] double to_log(double model_value) const;
};

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

// What a candidate is worth.

/// Where to measure next is chosen by this: the expected improvement (space/normal_distribution.hpp) with a standard
/// deviation half as large again. The likeliest scales are taken for true, so the model is surer than it should be.
[[nodiscard]] double bold_improvement(double mean, double sd, double best);

// Effects as the user asks for them: one value of a parameter against another, in words.

/// "43 % faster than f32 (41 to 45 %)", "3.0 % slower than f32 (1.0 % faster to 7.2 % slower)". Faster is counted in
/// speed, slower in time: 100 % faster is half the time, 100 % slower twice the time.
[[nodiscard]] std::string contrast_text(double mean, const Interval& interval, const std::string& reference);

/// "43 % faster", "3.0 % slower".
[[nodiscard]] std::string ratio_text(double log_ratio);

}  // namespace nocturne::search::model
