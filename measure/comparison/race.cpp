#include "measure/comparison/race.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

namespace nocturne::measure {
namespace {

constexpr double kDegrees = 4;       // of freedom, of a pair's log ratio
constexpr int kReweightings = 6;     // each begins where the fit before ended
constexpr std::size_t kDraws = 100;  // from the posterior: how probably one is the best, to 0.02 where that is 0.97

}  // namespace

Race::Race(std::vector<Entrant> entrants, const RacePolicy& policy, std::uint64_t seed)
    : entrants_(std::move(entrants)),
      policy_(policy),
      random_(seed),
      left_(entrants_.size(), false),
      gains_(static_cast<Eigen::Index>(entrants_.size())) {
  assert(entrants_.size() >= 2);
  for (std::size_t i = 0; i < entrants_.size(); ++i) gains_[static_cast<Eigen::Index>(i)] = entrants_[i].gain;
  fit();
  advance();
}

void Race::tell(double log_ratio) {
  assert(next_);
  told_.push_back({.pair = *next_, .log_ratio = log_ratio});
  fit();
  advance();
}

void Race::leave(std::size_t entrant) {
  assert(next_);
  left_[entrant] = true;
  std::erase(meeting_, entrant);
  advance();
}

void Race::fit() {
  const auto count = static_cast<Eigen::Index>(entrants_.size());
  for (int i = 0; i < kReweightings; ++i) {
    Eigen::MatrixXd precision = Eigen::MatrixXd::Zero(count, count);
    Eigen::VectorXd weighted = Eigen::VectorXd::Zero(count);
    for (Eigen::Index k = 0; k < count; ++k) {
      const Entrant& entrant = entrants_[static_cast<std::size_t>(k)];
      precision(k, k) = 1 / (entrant.error * entrant.error);
      weighted[k] = precision(k, k) * entrant.gain;
    }
    for (const Told& told : told_) {
      const auto first = static_cast<Eigen::Index>(told.pair.first);
      const auto second = static_cast<Eigen::Index>(told.pair.second);
      const double residual = (told.log_ratio - gains_[first] + gains_[second]) / policy_.scale;
      const double weight = (kDegrees + 1) / (kDegrees + residual * residual) / (policy_.scale * policy_.scale);
      precision(first, first) += weight;
      precision(second, second) += weight;
      precision(first, second) -= weight;
      precision(second, first) -= weight;
      weighted[first] += weight * told.log_ratio;
      weighted[second] -= weight * told.log_ratio;
    }
    precision_.compute(precision);
    gains_ = precision_.solve(weighted);
  }
}

void Race::advance() {
  next_.reset();
  if (pairs() >= policy_.most_pairs || std::ranges::count(left_, false) < 2) return;
  next_ = next_meeting();
  if (!next_) next_ = next_contenders();
}

std::optional<RacePair> Race::next_meeting() {
  if (meeting_.size() < 2) {
    if (rounds_ >= policy_.rounds) return std::nullopt;
    ++rounds_;
    // Whom the round before left over meets first in this one.
    std::vector<std::size_t> others;
    for (std::size_t i = 0; i < entrants_.size(); ++i)
      if (!left_[i] && std::ranges::find(meeting_, i) == meeting_.end()) others.push_back(i);
    std::ranges::shuffle(others, random_);
    meeting_.insert(meeting_.begin(), others.begin(), others.end());
  }
  const std::size_t first = meeting_.back();
  meeting_.pop_back();
  const std::size_t second = meeting_.back();
  meeting_.pop_back();
  return RacePair{.first = first, .second = second};
}

std::size_t Race::best_of(const Eigen::VectorXd& gains) const {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < entrants_.size(); ++i)
    if (!left_[i] && (!best || gains[static_cast<Eigen::Index>(i)] > gains[static_cast<Eigen::Index>(*best)])) best = i;
  assert(best);  // the last one cannot leave: there is no next pair
  return *best;
}

std::size_t Race::drawn_best() {
  std::normal_distribution<double> normal;
  Eigen::VectorXd draw(gains_.size());
  for (double& each : draw) each = normal(random_);
  precision_.matrixU().solveInPlace(draw);
  return best_of(gains_ + draw);
}

std::optional<RacePair> Race::next_contenders() {
  std::vector<std::size_t> times(entrants_.size(), 0);
  std::optional<std::size_t> first, second;
  for (std::size_t draw = 0; draw < kDraws; ++draw) {
    const std::size_t best = drawn_best();
    ++times[best];
    if (!first)
      first = best;
    else if (!second && best != *first)
      second = best;
  }
  const auto most = static_cast<double>(*std::ranges::max_element(times));
  if (!second || most >= policy_.certainty * static_cast<double>(kDraws)) return std::nullopt;
  return RacePair{.first = *first, .second = *second};
}

std::vector<RaceStanding> Race::standings() const {
  const Eigen::MatrixXd covariance = precision_.solve(Eigen::MatrixXd::Identity(gains_.size(), gains_.size()));
  std::vector<RaceStanding> standings;
  for (Eigen::Index i = 0; i < gains_.size(); ++i)
    standings.push_back({.gain = gains_[i], .error = std::sqrt(covariance(i, i))});
  return standings;
}

std::size_t Race::leader() const {
  return best_of(gains_);
}

}  // namespace nocturne::measure
