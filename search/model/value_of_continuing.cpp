#include "search/model/value_of_continuing.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <numeric>
#include <span>
#include <unordered_set>
#include <vector>

#include "search/model/prediction.hpp"

namespace nocturne::search::model {
namespace {

constexpr int kDrawn = 800;          // candidates drawn uniformly
constexpr std::size_t kCentres = 4;  // best trials whose neighbours are candidates
constexpr std::size_t kKept = 150;   // of all, those that the search would choose first

double normal(space::Random& random) {
  return std::sqrt(-2 * std::log1p(-random.unit())) * std::cos(2 * std::numbers::pi * random.unit());
}

/// What the search would choose by: the improvement times P(works), by point.
std::vector<double> worth(std::span<const float> means, std::span<const float> sds, std::span<const float> works,
                          double best) {
  std::vector<double> values(means.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = bold_improvement(static_cast<double>(means[i]), static_cast<double>(sds[i]), best) *
                static_cast<double>(works[i]);
  }
  return values;
}

space::PointList candidates_of(LinearModel& model, Feasibility& feasibility, space::Lattice& lattice,
                               space::Random& random) {
  std::unordered_set<std::uint64_t> seen;
  std::vector<std::size_t> order(model.size());
  for (std::size_t i = 0; i < model.size(); ++i) seen.insert(space::hash_of(model.point(i)));
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(model.log_value(i), i); });
  space::PointList all(lattice.width()), found(lattice.width());
  for (std::size_t i = 0; i < std::min(kCentres, order.size()); ++i) lattice.neighbours(model.point(order[i]), found);
  std::vector<space::Level> point(lattice.width());
  for (int i = 0; i < kDrawn && lattice.sample(random, point); ++i) found.push_back(point);
  for (std::size_t i = 0; i < found.size(); ++i)
    if (seen.insert(space::hash_of(found[i])).second) all.push_back(found[i]);
  std::vector<float> means, sds, works;
  model.predict(all, means, sds);
  feasibility.probabilities(all, works);
  const auto values = worth(means, sds, works, model.best());
  std::vector<std::size_t> top(all.size());
  std::iota(top.begin(), top.end(), std::size_t{0});
  std::ranges::sort(top, {}, [&](std::size_t i) { return std::pair(-values[i], i); });
  space::PointList kept(lattice.width());
  for (std::size_t i = 0; i < std::min(kKept, top.size()); ++i) kept.push_back(all[top[i]]);
  return kept;
}

/// The candidates of all plays. Between two trials of a play little changes, and between two plays nothing.
struct OpenPoints {
  FollowedPoints points;     ///< as the model knows them before a play
  std::vector<float> works;  ///< P(works)
};

/// The best of one play, log units.
double play(LinearModel& model, OpenPoints& candidates, std::size_t trials, space::Random& random) {
  double least = std::numeric_limits<double>::infinity();
  const std::size_t measured = model.size();
  std::vector<float> means, sds;
  model.predict(candidates.points, means, sds);
  FollowedPoints points = candidates.points;
  std::vector<std::size_t> open(means.size());
  std::iota(open.begin(), open.end(), std::size_t{0});
  for (std::size_t trial = 0; trial < trials && !open.empty(); ++trial) {
    if (trial > 0) model.predict(points, means, sds);
    const auto values = worth(means, sds, candidates.works, model.best());
    const auto place = std::ranges::max_element(open, {}, [&](std::size_t i) { return values[i]; });
    const std::size_t chosen = *place;
    *place = open.back();
    open.pop_back();
    if (random.unit() >= static_cast<double>(candidates.works[chosen])) continue;
    const auto point = points.points()[chosen];
    const auto prediction = model.predict(point);
    const double value =
        prediction.target.to_log(prediction.mean + prediction.latent_sd * prediction.widening * normal(random));
    least = std::min(least, value);
    model.tell(point, value);
  }
  model.take_back(measured);
  return least;
}

}  // namespace

ExpectedGain expected_gain(LinearModel& model, Feasibility& feasibility, space::Lattice& lattice, std::size_t trials,
                           space::Random& random, double confidence) {
  ExpectedGain result{.trials = std::min(trials, kMostExpectedGainTrials), .confidence = confidence};
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < model.size(); ++i) best = std::min(best, model.log_value(i));
  OpenPoints candidates{.points = FollowedPoints(candidates_of(model, feasibility, lattice, random)), .works = {}};
  feasibility.probabilities(candidates.points.points(), candidates.works);
  std::vector<double> gains(kExpectedGainDraws);
  for (auto& gain : gains) gain = std::max(0.0, best - play(model, candidates, result.trials, random));
  std::ranges::sort(gains);
  result.mean = std::accumulate(gains.begin(), gains.end(), 0.0) / static_cast<double>(gains.size());
  const auto beyond = static_cast<std::size_t>((1 - confidence) / 2 * static_cast<double>(gains.size()));
  result.lower = gains[beyond];
  result.upper = gains[gains.size() - 1 - beyond];
  return result;
}

}  // namespace nocturne::search::model
