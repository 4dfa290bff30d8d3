#include "measure/accuracy/time_to_accuracy.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>
#include <vector>

#include "space/normal_distribution.hpp"

namespace nocturne::measure {
namespace {

constexpr double kTail = 0.05;        // beyond each end of a 90 % interval
constexpr double kNormal95 = 1.6449;  // its quantile of the normal distribution
constexpr int kMeans = 120, kScatters = 16;
/// A training that is not over after so many evaluations counts as over there.
constexpr int kMostPoints = 4000;

double below_or_sure(double z) {
  constexpr double kFar = 6;  // where erfc is as good as 0, and slow
  if (std::abs(z) > kFar) return z > 0 ? 1 : 0;
  return space::normal_below(z);
}

/// One point of the grid: ln X ~ N(mean, scatter²).
struct Law {
  double mean = 0, scatter = 0, weight = 0;
  [[nodiscard]] double below(double epochs) const {
    return epochs <= 0 ? 0 : below_or_sure((std::log(epochs) - mean) / scatter);
  }
  /// Mean epochs at the first evaluation from X on: half of the distance between two lies behind X, on average.
  [[nodiscard]] double expected(double points_per_epoch) const {
    return std::exp(mean + scatter * scatter / 2) + 0.5 / points_per_epoch;
  }
};

double likelihood(const Law& law, std::span<const Crossing> crossings) {
  double product = 1;
  for (const Crossing& each : crossings)
    product *= (each.reached ? law.below(*each.reached) : 1.0) - law.below(each.below);
  return product;
}

/// Where μ may lie: as far as prior or curves reach.
std::pair<double, double> range_of_means(std::span<const Crossing> crossings, const EpochsPrior& prior) {
  double from = prior.log_mean - 3 * prior.log_sd, to = prior.log_mean + 3 * prior.log_sd;
  double least = to, most = from;
  bool all_reached = !crossings.empty();
  for (const Crossing& each : crossings) {
    least = std::min(least, std::log(std::max(each.below, 0.01)));
    most = std::max(most, std::log(each.reached.value_or(std::max(each.below, 0.01))));
    all_reached = all_reached && each.reached;
  }
  constexpr double kReach = 1.5;  // what σ may reasonably be, three times
  if (crossings.empty()) return {from, to};
  from = std::max(from, least - kReach);
  if (all_reached) to = std::min(to, most + kReach);
  // The curves may lie where the prior did not look for them.
  return {std::min(from, least - kReach), std::max(to, most + kReach)};
}

std::vector<Law> posterior(std::span<const Crossing> crossings, const EpochsPrior& prior) {
  const auto [from, to] = range_of_means(crossings, prior);
  std::vector<Law> laws;
  double sum = 0;
  for (int i = 0; i < kMeans; ++i) {
    const double mean = from + (to - from) * (i + 0.5) / kMeans;
    const double z = (mean - prior.log_mean) / prior.log_sd;
    for (int j = 0; j < kScatters; ++j) {
      const double t = 2.5 * (2 * (j + 0.5) / kScatters - 1);
      Law law{.mean = mean, .scatter = prior.scatter * std::exp(t * prior.scatter_log_sd)};
      law.weight = std::exp(-(z * z + t * t) / 2) * likelihood(law, crossings);
      sum += law.weight;
      laws.push_back(law);
    }
  }
  if (!(sum > 0)) return posterior({}, prior);  // curves that no such law can have drawn
  for (Law& law : laws) law.weight /= sum;
  return laws;
}

/// The value below which `share` of the weight lies. Sorts.
double quantile(std::vector<std::pair<double, double>>& values, double share) {
  std::ranges::sort(values);
  double sum = 0;
  for (const auto& [value, weight] : values) {
    sum += weight;
    if (sum >= share) return value;
  }
  return values.back().first;
}

/// The first evaluation by which a share of trainings is over.
double evaluation_by(const std::vector<Law>& laws, double share, double points_per_epoch) {
  const auto are_over = [&](int point) {
    double over = 0;
    for (const Law& law : laws) over += law.weight * law.below(point / points_per_epoch);
    return over >= share;
  };
  int before = 0, by = kMostPoints;
  while (by - before > 1) {
    const int middle = before + (by - before) / 2;
    (are_over(middle) ? by : before) = middle;
  }
  return by / points_per_epoch;
}

}  // namespace

std::optional<Crossing> crossing_of(const space::Run& run, double accuracy, double steps_per_epoch) {
  if (run.curve.empty()) return std::nullopt;
  Crossing crossing;
  for (const space::CurvePoint& point : run.curve) {
    const double epochs = static_cast<double>(point.steps) / steps_per_epoch;
    if (point.test.accuracy >= accuracy) {
      crossing.reached = epochs;
      break;
    }
    crossing.below = epochs;
  }
  return crossing;
}

std::optional<double> seconds_to_accuracy(const space::Run& run, double accuracy) {
  const auto reached =
      std::ranges::find_if(run.curve, [&](const space::CurvePoint& point) { return point.test.accuracy >= accuracy; });
  if (reached == run.curve.end()) return std::nullopt;
  std::chrono::nanoseconds time{};
  for (const space::Phase& phase : run.phases)
    if (phase.finished && phase.name != "accuracy") time += phase.wall;
  for (const space::Sample& sample : run.samples)
    if (sample.first_step < reached->steps) time += sample.wall;
  return std::chrono::duration<double>(time).count();
}

std::optional<double> seconds_of_epoch(const space::Run& run, double steps_per_epoch) {
  std::chrono::nanoseconds time{};
  std::int64_t steps = 0;
  for (const space::Sample& sample : run.samples) {
    time += sample.wall;
    steps += sample.steps;
  }
  if (steps == 0) return std::nullopt;
  return std::chrono::duration<double>(time).count() * steps_per_epoch / static_cast<double>(steps);
}

EpochsToTarget epochs_to_target(std::span<const Crossing> crossings, double points_per_epoch,
                                const EpochsPrior& prior) {
  const std::vector<Law> laws = posterior(crossings, prior);
  EpochsToTarget result;
  double log_mean = 0, log_square = 0;
  std::vector<std::pair<double, double>> means;
  for (const Law& law : laws) {
    const double expected = law.expected(points_per_epoch), logarithm = std::log(expected);
    means.emplace_back(expected, law.weight);
    log_mean += law.weight * logarithm;
    log_square += law.weight * logarithm * logarithm;
  }
  result.mean = std::exp(log_mean);
  result.log_sd = std::sqrt(std::max(0.0, log_square - log_mean * log_mean));
  result.low = quantile(means, kTail);
  result.high = quantile(means, 1 - kTail);
  result.next_low = evaluation_by(laws, kTail, points_per_epoch);
  result.next_high = evaluation_by(laws, 1 - kTail, points_per_epoch);
  for (const Crossing& each : crossings) ++(each.reached ? result.reached : result.censored);
  return result;
}

TimeToAccuracy time_to_accuracy(const EpochTimes& times, const EpochsToTarget& epochs) {
  const auto after = [&](double count) { return times.startup + count * times.epoch; };
  const double seconds = after(epochs.mean), chance = kNormal95 * times.log_sd;
  const auto below = [&](double count) {
    return seconds * std::exp(-std::hypot(std::max(0.0, std::log(seconds / after(count))), chance));
  };
  const auto above = [&](double count) {
    return seconds * std::exp(std::hypot(std::max(0.0, std::log(after(count) / seconds)), chance));
  };
  return {.seconds = seconds,
          .low = below(epochs.low),
          .high = above(epochs.high),
          .next_low = below(epochs.next_low),
          .next_high = above(epochs.next_high)};
}

}  // namespace nocturne::measure
