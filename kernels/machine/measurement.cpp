#include "kernels/machine/measurement.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

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

Spread repeat(Seconds budget, const std::function<double()>& once) {
  using std::chrono::steady_clock;
  std::vector<double> rates;
  const auto end = steady_clock::now() + budget;
  while (static_cast<int>(rates.size()) < kFewestRepeats || steady_clock::now() < end) rates.push_back(once());
  return spread_of(std::move(rates));
}

std::int64_t enough_iterations(std::int64_t fewest, std::int64_t most,
                               const std::function<std::chrono::nanoseconds(std::int64_t)>& once) {
  std::int64_t iterations = fewest;
  while (seconds_of(once(iterations)) < kRepeat.count() && iterations < most)
    iterations = std::min(most, iterations * 2);
  return iterations;
}

double seconds_of(std::chrono::nanoseconds time) {
  return std::max(1e-9, Seconds(time).count());
}

}  // namespace nocturne::machine
