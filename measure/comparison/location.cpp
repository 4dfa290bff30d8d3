#include "measure/comparison/location.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <vector>

#include "space/moments.hpp"

namespace nocturne::measure {
namespace {

constexpr std::size_t kMostBatches = 10;
constexpr std::size_t kLongestBurst = 16;  ///< steps; that many processes of a data loader are rare

std::size_t trimmed_at_each_end(std::size_t count) {
  return static_cast<std::size_t>(kTrim * static_cast<double>(count));
}

std::vector<double> sorted(std::span<const double> values) {
  std::vector<double> copy(values.begin(), values.end());
  std::ranges::sort(copy);
  return copy;
}

double trimmed_mean_of_sorted(std::span<const double> values) {
  const std::size_t cut = trimmed_at_each_end(values.size());
  const auto kept = values.subspan(cut, values.size() - 2 * cut);
  return std::accumulate(kept.begin(), kept.end(), 0.0) / static_cast<double>(kept.size());
}

/// `size`: of a batch at least; there is always one.
std::vector<double> batch_means(std::span<const double> values, std::size_t size = 1) {
  const std::size_t batches = std::clamp<std::size_t>(values.size() / size, 1, kMostBatches);
  std::vector<double> means;
  for (std::size_t batch = 0; batch < batches; ++batch) {
    const std::size_t begin = batch * values.size() / batches;
    const std::size_t end = (batch + 1) * values.size() / batches;
    const auto part = values.subspan(begin, end - begin);
    means.push_back(std::accumulate(part.begin(), part.end(), 0.0) / static_cast<double>(part.size()));
  }
  return means;
}

}  // namespace

double trimmed_mean(std::span<const double> values) {
  assert(!values.empty());
  return trimmed_mean_of_sorted(sorted(values));
}

double median(std::span<const double> values) {
  assert(!values.empty());
  std::vector<double> copy(values.begin(), values.end());
  const auto middle = copy.begin() + static_cast<std::ptrdiff_t>(copy.size() / 2);
  std::ranges::nth_element(copy, middle);
  if (copy.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(copy.begin(), middle)) / 2;
}

Location steady_location(std::span<const double> values) {
  assert(!values.empty());
  const std::vector<double> ordered = sorted(values);
  Location location{.value = trimmed_mean_of_sorted(ordered), .samples = values.size()};
  if (values.size() < 2) return location;

  const std::size_t cut = trimmed_at_each_end(values.size());
  const double low = ordered[cut];
  const double high = ordered[ordered.size() - 1 - cut];
  std::vector<double> influence;
  influence.reserve(values.size());
  for (const double value : values) influence.push_back(std::clamp(value, low, high) / (1 - 2 * kTrim));
  location.standard_error = std::sqrt(std::max(space::moments_of(batch_means(influence)).squared_error(),
                                               space::moments_of(influence).squared_error()));
  return location;
}

Location bursty_location(std::span<const double> values) {
  assert(!values.empty());
  const std::vector<double> batches = batch_means(values, kLongestBurst);
  Location location = steady_location(batches);
  if (batches.size() < 2 && values.size() > 1)
    location.standard_error = std::sqrt(space::moments_of(values).squared_error());
  location.samples = values.size();
  return location;
}

}  // namespace nocturne::measure
