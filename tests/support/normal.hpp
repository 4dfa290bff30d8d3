#pragma once

/// Draws of the standard normal distribution (Box and Muller), the same everywhere.

#include <cmath>
#include <numbers>

#include "space/random.hpp"

namespace nocturne::test {

inline double normal(space::Random& random) {
  const double radius = std::sqrt(-2 * std::log(1 - random.unit()));
  return radius * std::cos(2 * std::numbers::pi * random.unit());
}

}  // namespace nocturne::test
