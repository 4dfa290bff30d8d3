#pragma once

/// Effects as a person asks for them: one value of a parameter against another, in words.

#include <span>
#include <string>
#include <vector>

#include "search/model/linear_model.hpp"
#include "search/model/prediction.hpp"

namespace nocturne::search::model {

/// One level against a reference level, all else equal, on average over the rest of the space.
struct Contrast {
  space::Level level = 0;
  std::size_t trials = 0;  ///< that had this level
  double mean = 0;         ///< log units; below 0: faster than the reference
  Interval interval;       ///< 90 %
};

/// All levels but the reference, in their order. Effects of the k levels of a parameter sum to zero, so two of them are
/// correlated by -1/(k-1) where all are known alike; the variance of a difference is taken from that: exact for two
/// levels. Empty where the reference is no level of the effect.
[[nodiscard]] std::vector<Contrast> contrasts(const ParameterEffect& effect, space::Level reference);

/// "43 % faster than f32 (41 to 45 %)", "3.0 % slower than f32 (1.0 % faster to 7.2 % slower)". Faster is counted in
/// speed, slower in time: 100 % faster is half the time, 100 % slower twice the time.
[[nodiscard]] std::string contrast_text(double mean, const Interval& interval, const std::string& reference);

/// "43 % faster", "3.0 % slower".
[[nodiscard]] std::string ratio_text(double log_ratio);

}  // namespace nocturne::search::model
