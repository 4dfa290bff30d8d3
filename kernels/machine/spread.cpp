#include "kernels/machine/spread.hpp"

#include <algorithm>
#include <cmath>

namespace nocturne::machine {
namespace {

double quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(place));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - std::floor(place)) * (sorted[above] - sorted[below]);
}

}  // namespace

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  Spread spread;
  spread.median = quantile(values, 0.5);
  spread.minimum = values.front();
  spread.maximum = values.back();
  spread.relative_spread = spread.median != 0 ? (quantile(values, 0.75) - quantile(values, 0.25)) / spread.median : 0;
  spread.repeats = static_cast<int>(values.size());
  return spread;
}

}  // namespace nocturne::machine
