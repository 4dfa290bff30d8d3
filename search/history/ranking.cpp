#include "search/history/ranking.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <boost/math/distributions/students_t.hpp>

#include "search/history/past_trials.hpp"

namespace nocturne::search::history {
namespace {

constexpr double kKnee = 0.25;               // as the search: the order of the fast ones is what is wanted
constexpr std::size_t kRemembered = 20'000;  // means, then they are forgotten

constexpr double kStep = 1e-4;         // log units, for the slope of a target
constexpr double kDegrees = 4;         // of freedom, of differences between then and now
constexpr int kReweightings = 8;       // settles to a thousandth of the standard deviation
constexpr double kNormalMad = 1.4826;  // standard deviations in a median absolute deviation, of a normal
constexpr std::size_t kEnoughToScatter = 3;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace

Ranking::Ranking(space::Lattice& lattice, std::string name)
    : name_(std::move(name)), model_(lattice, {.knee = kKnee, .trials = kMost}) {}

std::unique_ptr<Ranking> Ranking::of(space::Lattice& lattice, const History& campaign,
                                     const space::Objective& objective) {
  std::vector<PastTrial> trials;
  for (const auto& each : campaign.trials) {
    const auto value = log_value_of(each, objective);
    if (!value) continue;
    if (auto point = nearest_point(lattice, each.configuration))
      trials.push_back({.point = *std::move(point), .log_value = value});
  }
  trials = thinned(std::move(trials), kMost);
  if (trials.size() < kFewest) return nullptr;
  std::unique_ptr<Ranking> ranking(new Ranking(lattice, campaign.name));
  for (const auto& each : trials) ranking->model_.tell(each.point, *each.log_value);
  ranking->model_.fit();
  return ranking;
}

double Ranking::mean(space::Point point) {
  if (known_.size() >= kRemembered) known_.clear();
  const auto [known, is_new] = known_.try_emplace(space::hash_of(point), 0);
  if (is_new) known->second = model_.mean(point);
  return known->second;
}

double log_density(const model::Prediction& prediction, double log_value, double extra_sd) {
  const auto& target = prediction.target;
  const double slope = (target.to_model(log_value + kStep) - target.to_model(log_value - kStep)) / (2 * kStep);
  const double observed = prediction.observed_sd * prediction.widening, extra = extra_sd * slope;
  const double sd = std::sqrt(observed * observed + extra * extra);
  const boost::math::students_t_distribution<double> t(prediction.degrees);
  const double density = boost::math::pdf(t, (target.to_model(log_value) - prediction.mean) / sd);
  return std::log(std::max(density * slope / sd, 1e-300));
}

void Agreement::tell(double log_with, double log_without, bool inside) {
  ++measured_;
  inside_ += inside;
  log_evidence_ = std::max(0.0, log_evidence_) + log_without - log_with - allowance_;
  rejected_ = rejected_ || log_evidence_ >= -std::log(alpha_);
  log_evidence_ = std::max(0.0, log_evidence_);
}

Offset offset_of(std::span<const double> differences) {
  Offset offset;
  double scatter = Offset::kLeastSd;
  if (differences.size() >= kEnoughToScatter) {
    const double middle = median({differences.begin(), differences.end()});
    std::vector<double> apart;
    for (const double each : differences) apart.push_back(std::abs(each - middle));
    scatter = std::max(scatter, kNormalMad * median(std::move(apart)));
  }
  for (int i = 0; i < kReweightings; ++i) {
    double precision = 1 / (Offset::kPriorSd * Offset::kPriorSd);
    double sum = 0;
    for (const double each : differences) {
      const double z = (each - offset.mean) / scatter;
      const double weight = (kDegrees + 1) / (kDegrees + z * z) / (scatter * scatter);
      precision += weight;
      sum += weight * each;
    }
    offset = {.mean = sum / precision, .sd = 1 / std::sqrt(precision)};
  }
  return offset;
}

}  // namespace nocturne::search::history
