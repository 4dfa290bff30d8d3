#pragma once

/// How an objective becomes what the model predicts: its logarithm, bent above a knee, standardised.
///
/// Ratios are what tuning is about, and effects of parameters multiply: so the logarithm. Configurations far slower
/// than most need not be told apart, and must not bend the rest: above the knee m the logarithm l continues as
/// m + s · log(1 + (l - m) / s), s = m - best. It is monotone and smooth, so that intervals go back through its
/// inverse; what a ×10 outlier adds is bounded by its own logarithm. A low knee serves a search, a high one a report.

#include <span>

namespace nocturne::search::model {

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

}  // namespace nocturne::search::model
