#include "measure/comparison/race.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

namespace nocturne::measure {
namespace {

constexpr double kDegrees = 4;       // of freedom, of a pair's log ratio
constexpr int kReweightings = 100;   // at most; each begins where the one before ended
constexpr double kSettled = 1e-3;    // scales by which gains and scale move when the fit is over
constexpr std::size_t kDraws = 100;  // from the posterior: how probably one is the best, to 0.02 where that is 0.97

/// What a pair with that residual, in scales, counts for.
double weight_of(double squared_residual) {
  return (kDegrees + 1) / (kDegrees + squared_residual);
}

/// Adds the precision of the difference of two entrants.
void add_pair(Eigen::MatrixXd& precision, const RacePair& pair, double weight) {
  const auto first = static_cast<Eigen::Index>(pair.first), second = static_cast<Eigen::Index>(pair.second);
  precision(first, first) += weight;
  precision(second, second) += weight;
  precision(first, second) -= weight;
  precision(second, first) -= weight;
}

double difference(const Eigen::VectorXd& gains, const RacePair& pair) {
  return gains[static_cast<Eigen::Index>(pair.first)] - gains[static_cast<Eigen::Index>(pair.second)];
}

/// Variance of that.
double variance_of_difference(const Eigen::MatrixXd& covariance, const RacePair& pair) {
  const auto first = static_cast<Eigen::Index>(pair.first), second = static_cast<Eigen::Index>(pair.second);
  return covariance(first, first) + covariance(second, second) - 2 * covariance(first, second);
}

}  // namespace

Race::Race(std::vector<Entrant> entrants, const RacePolicy& policy, std::uint64_t seed, std::vector<RaceAnswer> known)
    : entrants_(std::move(entrants)),
      policy_(policy),
      random_(seed),
      left_(entrants_.size(), false),
      told_(std::move(known)),
      scale_(policy.scale),
      gains_(static_cast<Eigen::Index>(entrants_.size())) {
  assert(entrants_.size() >= 2);
  for (std::size_t i = 0; i < entrants_.size(); ++i) gains_[static_cast<Eigen::Index>(i)] = entrants_[i].gain;
  fit();
  advance();
}

void Race::tell(double log_ratio) {
  assert(next_);
  tell(RacePair(*next_), log_ratio);
}

void Race::tell(const RacePair& pair, double log_ratio) {
  told_.push_back({.pair = pair, .log_ratio = log_ratio});
  fit();
  advance();
}

void Race::leave(std::size_t entrant) {
  if (std::ranges::count(left_, false) < 2) return;
  left_[entrant] = true;
  advance();
}

std::optional<RacePair> Race::next_beside(std::span<const RacePair> in_flight) {
  if (!next_ || in_flight.empty()) return next_;
  if (pairs() + std::ssize(in_flight) >= policy_.most_pairs) return std::nullopt;
  const auto meeting = next_meeting(in_flight);
  return meeting ? meeting : next_contenders();
}

Eigen::MatrixXd Race::prior_precision() const {
  const auto count = static_cast<Eigen::Index>(entrants_.size());
  Eigen::MatrixXd precision = Eigen::MatrixXd::Zero(count, count);
  for (Eigen::Index k = 0; k < count; ++k) {
    const double error = sd_factor_ * entrants_[static_cast<std::size_t>(k)].error;
    precision(k, k) = 1 / (error * error);
  }
  return precision;
}

void Race::fit() {
  for (int i = 0; i < kReweightings; ++i) {
    const Eigen::VectorXd gains = gains_;
    const double scale = scale_, sd_factor = sd_factor_;
    fit_gains();
    fit_scale();
    fit_sd_factor();
    const double moved = std::max((gains_ - gains).cwiseAbs().maxCoeff(), std::abs(scale_ - scale));
    if (moved < kSettled * scale_ && std::abs(sd_factor_ - sd_factor) < kSettled) break;
  }
}

void Race::fit_gains() {
  const Eigen::MatrixXd prior = prior_precision();
  Eigen::MatrixXd weighted = prior, information = prior;
  Eigen::VectorXd sums(gains_.size());
  for (Eigen::Index k = 0; k < sums.size(); ++k) sums[k] = prior(k, k) * entrants_[static_cast<std::size_t>(k)].gain;
  const double per_scale = 1 / (scale_ * scale_);
  for (const RaceAnswer& told : told_) {
    const double residual = told.log_ratio - difference(gains_, told.pair);
    const double weight = weight_of(residual * residual * per_scale) * per_scale;
    add_pair(weighted, told.pair, weight);
    add_pair(information, told.pair, (kDegrees + 1) / (kDegrees + 3) * per_scale);
    sums[static_cast<Eigen::Index>(told.pair.first)] += weight * told.log_ratio;
    sums[static_cast<Eigen::Index>(told.pair.second)] -= weight * told.log_ratio;
  }
  gains_ = weighted.llt().solve(sums);
  precision_.compute(information);
  covariance_ = precision_.solve(Eigen::MatrixXd::Identity(gains_.size(), gains_.size()));
}

void Race::fit_scale() {
  double squares = policy_.scale_pairs * policy_.scale * policy_.scale;
  for (const RaceAnswer& told : told_) {
    const double residual = told.log_ratio - difference(gains_, told.pair);
    // What the gains themselves are not known to counts, too: the residual alone is too small by it.
    const double square = residual * residual + variance_of_difference(covariance_, told.pair);
    squares += weight_of(square / (scale_ * scale_)) * square;
  }
  scale_ = std::sqrt(squares / (policy_.scale_pairs + static_cast<double>(told_.size())));
}

void Race::fit_sd_factor() {
  double squares = policy_.sd_entrants, count = policy_.sd_entrants;
  const auto met = meetings({});
  for (std::size_t i = 0; i < met.size(); ++i) {
    if (met[i] == 0) continue;
    const auto k = static_cast<Eigen::Index>(i);
    const double error = entrants_[i].error, off = gains_[k] - entrants_[i].gain;
    squares += (off * off + covariance_(k, k)) / (error * error);
    ++count;
  }
  sd_factor_ = std::sqrt(std::max(1.0, squares / count));
}

std::vector<int> Race::meetings(std::span<const RacePair> in_flight) const {
  std::vector<int> meetings(entrants_.size(), 0);
  const auto count = [&](const RacePair& pair) {
    ++meetings[pair.first];
    ++meetings[pair.second];
  };
  for (const RaceAnswer& told : told_) count(told.pair);
  for (const RacePair& pair : in_flight) count(pair);
  return meetings;
}

void Race::advance() {
  next_.reset();
  if (pairs() >= policy_.most_pairs || std::ranges::count(left_, false) < 2) return;
  next_ = next_meeting({});
  if (!next_) next_ = next_contenders();
}

std::optional<RacePair> Race::next_meeting(std::span<const RacePair> in_flight) {
  const auto met = meetings(in_flight);
  std::vector<std::size_t> waiting, others;
  for (std::size_t i = 0; i < entrants_.size(); ++i)
    if (!left_[i]) (met[i] < policy_.rounds ? waiting : others).push_back(i);
  if (waiting.empty()) return std::nullopt;
  // Whom a round left over meets first in the next one; after the last round it meets the best of the others.
  std::ranges::shuffle(waiting, random_);
  std::ranges::stable_sort(waiting, {}, [&](std::size_t i) { return met[i]; });
  if (waiting.size() > 1) return RacePair{.first = waiting[0], .second = waiting[1]};
  const auto gain = [&](std::size_t i) { return gains_[static_cast<Eigen::Index>(i)]; };
  return RacePair{.first = waiting[0], .second = *std::ranges::max_element(others, {}, gain)};
}

std::size_t Race::best_of(const Eigen::VectorXd& gains) const {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < entrants_.size(); ++i)
    if (!left_[i] && (!best || gains[static_cast<Eigen::Index>(i)] > gains[static_cast<Eigen::Index>(*best)])) best = i;
  assert(best);  // the last one cannot leave: there is no next pair
  return *best;
}

Eigen::VectorXd Race::drawn_gains() {
  std::normal_distribution<double> normal;
  Eigen::VectorXd draw(gains_.size());
  for (double& each : draw) each = normal(random_);
  precision_.matrixU().solveInPlace(draw);
  return gains_ + draw;
}

std::optional<RacePair> Race::next_contenders() {
  const auto leading = static_cast<Eigen::Index>(leader());
  std::size_t leads = 0;
  std::optional<std::size_t> first, second;
  for (std::size_t draw = 0; draw < kDraws; ++draw) {
    const Eigen::VectorXd gains = drawn_gains();
    const std::size_t best = best_of(gains);
    if (gains[leading] + policy_.margin >= gains[static_cast<Eigen::Index>(best)]) ++leads;
    if (!first)
      first = best;
    else if (!second && best != *first)
      second = best;
  }
  if (!second || static_cast<double>(leads) >= policy_.certainty * static_cast<double>(kDraws)) return std::nullopt;
  return RacePair{.first = *first, .second = *second};
}

std::vector<RaceStanding> Race::standings() const {
  std::vector<RaceStanding> standings;
  for (Eigen::Index i = 0; i < gains_.size(); ++i)
    standings.push_back({.gain = gains_[i], .error = std::sqrt(covariance_(i, i))});
  return standings;
}

std::size_t Race::leader() const {
  return best_of(gains_);
}

}  // namespace nocturne::measure
