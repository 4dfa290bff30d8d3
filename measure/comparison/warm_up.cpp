#include "measure/comparison/warm_up.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "measure/comparison/location.hpp"

namespace nocturne::measure {
namespace {

constexpr std::size_t kFewest = 6;                // below, half a series is no evidence of anything
constexpr std::size_t kMserBatch = 5;             // White's m
constexpr std::size_t kFewestForBatches = 50;     // ten batches of five, as MSER-5 is used in the literature
constexpr double kSigmas = 3;                     // a value beyond is no scatter of the rest
constexpr double kResolution = 1e-3;              // of a step: less is no warm-up worth the name
constexpr double kMadToSigma = 1.4826;            // of a normal distribution
constexpr double kMeanDeviationToSigma = 1.2533;  // likewise

struct Spread {
  double median = 0;
  double sigma = 0;
};

Spread robust_spread(std::span<const double> values) {
  const double centre = median(values);
  std::vector<double> deviations;
  deviations.reserve(values.size());
  for (const double value : values) deviations.push_back(std::abs(value - centre));
  return {centre, kMadToSigma * median(deviations)};
}

/// Running median of three; the ends stay as they are.
std::vector<double> without_spikes(std::span<const double> values) {
  std::vector<double> result(values.begin(), values.end());
  for (std::size_t i = 1; i + 1 < values.size(); ++i) {
    const double low = std::min(values[i - 1], values[i + 1]);
    const double high = std::max(values[i - 1], values[i + 1]);
    result[i] = std::clamp(values[i], low, high);
  }
  return result;
}

std::vector<double> means_of(std::span<const double> values, std::size_t width) {
  std::vector<double> means;
  for (std::size_t begin = 0; begin + width <= values.size(); begin += width) {
    const auto batch = values.subspan(begin, width);
    means.push_back(std::accumulate(batch.begin(), batch.end(), 0.0) / static_cast<double>(width));
  }
  return means;
}

/// Where among 0 … n/2 the squared standard error of the mean of what is left is least.
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
    if (error <= least) {
      least = error;
      best = i;
    }
  }
  return best;
}

/// What the second half, which is never dropped, varies by: the median deviation of its values, but not less than the
/// mean deviation behind the filter (equal values in the majority would make the former zero).
Spread spread_of_second_half(std::span<const double> raw, std::span<const double> filtered) {
  Spread spread = robust_spread(raw.subspan(raw.size() / 2));
  double deviation = 0;
  const auto half = filtered.subspan(filtered.size() / 2);
  for (const double value : half) deviation += std::abs(value - spread.median) / static_cast<double>(half.size());
  spread.sigma = std::max(spread.sigma, kMeanDeviationToSigma * deviation);
  return spread;
}

std::size_t walk_back(std::span<const double> values, std::size_t point, const Spread& steady) {
  const double scatter = std::max(kSigmas * steady.sigma, kResolution * steady.median);
  while (point > 0 && std::abs(values[point - 1] - steady.median) <= scatter) --point;
  return point;
}

}  // namespace

WarmUp detect_warm_up(std::span<const double> step_times) {
  const std::size_t count = step_times.size();
  if (count < kFewest) return {.samples = 0, .settled = false};

  const std::size_t width = count >= kFewestForBatches ? kMserBatch : 1;
  const std::vector<double> means = means_of(without_spikes(step_times), width);
  const Spread steady = spread_of_second_half(means_of(step_times, width), means);
  const std::size_t point = walk_back(means, truncation_point(means), steady);
  if (point == 0) return {.samples = 0, .settled = true};

  const std::size_t dropped = point * width;
  const Spread rest = robust_spread(step_times.subspan(dropped));  // of single steps, not of batches
  const double early = median(step_times.first(dropped));
  if (std::abs(early - rest.median) <= rest.sigma) return {.samples = 0, .settled = true};
  return {.samples = dropped, .settled = point < means.size() / 2};
}

}  // namespace nocturne::measure
