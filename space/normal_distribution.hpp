#pragma once

/// The standard normal distribution. Pure.

#include <algorithm>
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

/// E[max(0, best - y)] for y normal: sd (u Phi(u) + phi(u)), u = (best - mean) / sd (Jones, Schonlau, Welch, "Efficient
/// global optimization of expensive black-box functions", J. Global Optimization 13, 1998, equation 15).
[[nodiscard]] inline double expected_improvement(double mean, double sd, double best) {
  if (sd <= 0) return std::max(0.0, best - mean);
  const double u = (best - mean) / sd;
  return sd * (u * normal_below(u) + normal_density(u));
}

}  // namespace nocturne::space
