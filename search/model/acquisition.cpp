#include "search/model/acquisition.hpp"

#include <cmath>
#include <numbers>

namespace nocturne::search::model {

double expected_improvement(double mean, double sd, double best) {
  const double u = (best - mean) / sd;
  const double density = std::exp(-0.5 * u * u) / std::sqrt(2 * std::numbers::pi);
  const double below = 0.5 * std::erfc(-u / std::numbers::sqrt2);
  return sd * (u * below + density);
}

}  // namespace nocturne::search::model
