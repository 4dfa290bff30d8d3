#include "measure/warm_up.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace nocturne::measure {
namespace {

constexpr std::size_t kFewest = 6;             // below, half a series is no evidence of anything
constexpr std::size_t kMserBatch = 5;          // White's m
constexpr std::size_t kFewestForBatches = 50;  // ten batches of five, as MSER-5 is used in the literature
constexpr double kClip = 5;                    // scaled deviations; a calm sample is practically never that far out
constexpr double kMadToSigma = 1.4826;         // of a normal distribution

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

struct Spread {
  double median = 0;
  double sigma = 0;
};

Spread robust_spread(std::span<const double> values) {
  const double centre = median({values.begin(), values.end()});
  std::vector<double> deviations;
  deviations.reserve(values.size());
  for (const double value : values) deviations.push_back(std::abs(value - centre));
  return {centre, kMadToSigma * median(std::move(deviations))};
}

/// Where the squared standard error of the mean of what is left is smallest, among 0 … n/2.
std::size_t truncation_point(std::span<const double> values) {
  const std::size_t count = values.size();
  std::size_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  // Sums from the back, of deviations from the last value: no cancellation of large equal numbers.
  double sum = 0, squares = 0;
  for (std::size_t i = count; i-- > 0;) {
    const double deviation = values[i] - values[count - 1];
    sum += deviation;
    squares += deviation * deviation;
    if (i > count / 2) continue;
    const double left = static_cast<double>(count - i);
    const double error = std::max(0.0, squares - sum * sum / left) / (left * left);
    if (error <= least) {  // the earlier point wins a tie: it keeps more samples
      least = error;
      best = i;
    }
  }
  return best;
}

}  // namespace

WarmUp detect_warm_up(std::span<const double> step_times) {
  const std::size_t count = step_times.size();
  if (count < kFewest) return {.samples = 0, .settled = false};

  const Spread late = robust_spread(step_times.subspan(count / 2));
  const std::size_t width = count >= kFewestForBatches ? kMserBatch : 1;
  std::vector<double> means;
  for (std::size_t begin = 0; begin + width <= count; begin += width) {
    double sum = 0;
    for (const double value : step_times.subspan(begin, width)) {
      sum += late.sigma > 0 ? std::clamp(value, late.median - kClip * late.sigma, late.median + kClip * late.sigma)
                            : value;
    }
    means.push_back(sum / static_cast<double>(width));
  }
  const std::size_t point = truncation_point(means);
  if (point == 0) return {.samples = 0, .settled = true};

  const std::size_t dropped = point * width;
  const Spread rest = robust_spread(step_times.subspan(dropped));
  const double shift =
      std::abs(median({step_times.begin(), step_times.begin() + static_cast<std::ptrdiff_t>(dropped)}) - rest.median);
  // Scatter of a median of `dropped` values (1.25 sigma / sqrt n), three times, but at least one sigma.
  const double noise = std::max(rest.sigma, 3 * 1.2533 * rest.sigma / std::sqrt(static_cast<double>(dropped)));
  if (shift <= noise) return {.samples = 0, .settled = true};
  return {.samples = dropped, .settled = point < means.size() / 2};
}

}  // namespace nocturne::measure
