#include "search/spread_design.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace nocturne::search {
namespace {

constexpr std::size_t kCompared = 100;  // candidates that stand for all where the centre is sought

}  // namespace

double distance(const model::LevelKernels& kernels, space::Point a, space::Point b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto first = kernels.first_row(i);
    sum -=
        std::log(static_cast<double>(kernels.closeness(i, kernels.row(i, a[i]) - first, kernels.row(i, b[i]) - first)));
  }
  return sum;
}

std::size_t next_spread(const model::LevelKernels& kernels, const space::PointList& chosen,
                        const space::PointList& candidates) {
  std::size_t best = 0;
  double best_value = -std::numeric_limits<double>::infinity();
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    double value = chosen.empty() ? 0 : std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      value = std::min(value, distance(kernels, candidates[c], chosen[i]));
    }
    for (std::size_t i = 0; chosen.empty() && i < std::min(kCompared, candidates.size()); ++i) {
      const double apart = distance(kernels, candidates[c], candidates[i]);
      value -= apart * apart;
    }
    if (value > best_value) {
      best_value = value;
      best = c;
    }
  }
  return best;
}

}  // namespace nocturne::search
