#include "search/replay/random_baseline.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace nocturne::search::replay {
namespace {

// What remains of a tail below this changes no printed digit.
constexpr double kNegligible = 1e-15;

/// To the nearest integer, halves to the even one, as the published implementation does.
std::size_t rounded(double number) {
  const double floor = std::floor(number);
  const double rest = number - floor;
  const bool up = rest > 0.5 || (rest == 0.5 && std::fmod(floor, 2.0) != 0.0);
  return static_cast<std::size_t>(floor + (up ? 1 : 0));
}

double share(double numerator, double denominator) {
  return denominator > 0 ? numerator / denominator : 0;
}

/// At most kExactPoints of the range, evenly spread, both ends among them.
std::vector<std::size_t> spread_points(std::size_t first, std::size_t count) {
  std::vector<std::size_t> points;
  const auto most = std::min(count, RandomBaseline::kExactPoints);
  const double step = most > 1 ? static_cast<double>(count - 1) / static_cast<double>(most - 1) : 0;
  for (std::size_t i = 0; i < most; ++i) points.push_back(first + rounded(static_cast<double>(i) * step));
  return points;
}

}  // namespace

double best_of(RunValues values, std::size_t count, double otherwise) {
  bool found = false;
  double best = otherwise;
  for (const double value : values.first(std::min(count, values.size()))) {
    if (std::isnan(value) || (found && value >= best)) continue;
    best = value;
    found = true;
  }
  return best;
}

RandomBaseline::RandomBaseline(std::vector<double> ordered, std::size_t rows)
    : ordered_(std::move(ordered)), rows_(rows) {
  const auto half = ordered_.size() / 2;
  median_ = ordered_.size() % 2 == 1 ? ordered_[half] : (ordered_[half - 1] + ordered_[half]) / 2;
}

double RandomBaseline::expected_best(std::size_t draws) const {
  if (draws >= rows_) return optimum();
  const auto total = static_cast<double>(rows_);
  const auto taken = static_cast<double>(draws);
  double missed = 1;  // q(k, i)
  double sum = 0;
  for (std::size_t i = 0; i < ordered_.size() && missed >= kNegligible; ++i) {
    const auto gone = static_cast<double>(i);
    const double next = missed * std::max(0.0, total - taken - gone) / (total - gone);
    sum += ordered_[i] * (missed - next);
    missed = next;
  }
  return sum / (1 - (missed < kNegligible ? 0 : missed));
}

double RandomBaseline::expected_draws(double factor) const {
  const auto good = std::ranges::upper_bound(ordered_, optimum() * factor) - ordered_.begin();
  return (static_cast<double>(rows_) + 1) / (static_cast<double>(good) + 1);
}

std::size_t RandomBaseline::evaluations_for(double part) const {
  const double target = optimum() + (median_ - optimum()) * (1 - part);
  const auto reached = static_cast<double>(std::ranges::upper_bound(ordered_, target) - ordered_.begin());
  const auto count = static_cast<double>(ordered_.size());
  const double worse = count - reached;
  return static_cast<std::size_t>(std::max(1.0, std::ceil(worse / (count + 1 - worse))));
}

RandomBaseline::Range RandomBaseline::range(std::size_t cap) const {
  const auto first = evaluations_for(kStart);
  const auto last = std::min(evaluations_for(kCutoff), std::max(cap, first));
  return {.first = first, .last = std::max(last, first + 1)};
}

double RandomBaseline::published_baseline(std::size_t draws) const {
  const auto count = ordered_.size();
  const auto m = static_cast<double>(draws);
  const auto rank = std::min(count - 1, rounded(m * (static_cast<double>(count) + 1) / (m + 1)));
  return ordered_[count - 1 - rank];
}

Score RandomBaseline::score(std::span<const RunValues> runs, std::size_t cap) const {
  const auto [first, last] = range(cap);
  std::vector<std::vector<double>> at(last - first);  // by point: the best of each run
  for (const auto run : runs) {
    double best = worst();
    std::size_t used = 0;
    for (std::size_t point = first; point < last; ++point) {
      for (; used < std::min(point, run.size()); ++used)
        best = std::min(best, run[used]);  // stays where the run's value is NaN
      at[point - first].push_back(best);
    }
  }
  Score score;
  for (std::size_t point = first; point < last; ++point) {
    auto& found = at[point - first];
    const auto middle = found.begin() + static_cast<std::ptrdiff_t>(found.size() / 2);
    std::ranges::nth_element(found, middle);
    const double baseline = published_baseline(point);
    // Where the baseline stands at the optimum, having found it too counts in full.
    const double part =
        baseline > optimum() ? (baseline - *middle) / (baseline - optimum()) : (*middle <= optimum() ? 1.0 : 0.0);
    score.published += part / static_cast<double>(last - first);
  }
  const auto points = spread_points(first, last - first);
  for (const auto point : points) {
    double sum = 0;
    for (const double best : at[point - first]) sum += best;
    const double baseline = expected_best(point);
    score.exact += share(baseline - sum / static_cast<double>(runs.size()), baseline - optimum()) /
                   static_cast<double>(points.size());
  }
  return score;
}

}  // namespace nocturne::search::replay
