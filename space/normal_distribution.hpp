#pragma once

/// The standard normal distribution. Pure.

#include <cmath>
#include <numbers>

namespace nocturne::space {

/// P(Z ≤ z).
[[nodiscard]] inline double normal_below(double z) {
  return 0.5 * std::erfc(-z / std::numbers::sqrt2);
}

[[nodiscard]] inline double normal_density(double z) {
  return std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
}

}  // namespace nocturne::space
