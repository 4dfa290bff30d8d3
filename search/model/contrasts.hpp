#pragma once

/// Effects as the user asks for them: one value of a parameter against another, in words.

#include <string>

#include "search/model/prediction.hpp"

namespace nocturne::search::model {

/// "43 % faster than f32 (41 to 45 %)", "3.0 % slower than f32 (1.0 % faster to 7.2 % slower)". Faster is counted in
/// speed, slower in time: 100 % faster is half the time, 100 % slower twice the time.
[[nodiscard]] std::string contrast_text(double mean, const Interval& interval, const std::string& reference);

/// "43 % faster", "3.0 % slower".
[[nodiscard]] std::string ratio_text(double log_ratio);

}  // namespace nocturne::search::model
