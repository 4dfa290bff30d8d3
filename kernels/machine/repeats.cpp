#include "kernels/machine/repeats.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace nocturne::machine {

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
  while (seconds_of(once(iterations)) < kRepeat.count() && iterations < most) {
    iterations = std::min(most, iterations * 2);
  }
  return iterations;
}

double seconds_of(std::chrono::nanoseconds time) {
  return std::max(1e-9, Seconds(time).count());
}

}  // namespace nocturne::machine
