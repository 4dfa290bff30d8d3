#include "measure/accuracy/curve_race.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include <Eigen/Cholesky>

#include "space/normal_distribution.hpp"

namespace nocturne::measure {
namespace {

/// Standard deviations of logarithms: how far sets lie apart that share nothing, by one value, and by all together.
struct LogSpread {
  double level = 1, effect = 0, own = 0;
};
constexpr LogSpread kOfEpochs{.level = 1.2, .effect = 0.3, .own = 0.12};
constexpr LogSpread kOfTimes{.level = 3, .effect = 0.4, .own = 0.1};
constexpr double kTimesError = 0.05;  // of a trial, by chance

double covariance(const LearningEntrant& a, const LearningEntrant& b, const LogSpread& spread) {
  double sum = spread.level * spread.level;
  bool equal = true;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    const bool same = a.values[i] == b.values[i];
    equal = equal && same;
    if (same) sum += spread.effect * spread.effect;
  }
  return sum + (equal ? spread.own * spread.own : 0);
}

struct Expected {
  double mean = 0, sd = 0;
};

/// What is known of one entrant.
struct Known {
  std::size_t entrant = 0;
  double value = 0, error = 0;
};

/// The Gaussian process, conditioned on what is known; its mean beforehand is `before`.
std::vector<Expected> expectations(std::span<const LearningEntrant> entrants, const std::vector<Known>& known,
                                   double before, const LogSpread& spread) {
  const auto size = static_cast<Eigen::Index>(known.size());
  const auto at = [&](Eigen::Index i) -> const Known& { return known[static_cast<std::size_t>(i)]; };
  Eigen::MatrixXd between(size, size);
  Eigen::VectorXd residual(size);
  for (Eigen::Index i = 0; i < size; ++i) {
    for (Eigen::Index j = 0; j < size; ++j)
      between(i, j) = covariance(entrants[at(i).entrant], entrants[at(j).entrant], spread);
    between(i, i) += at(i).error * at(i).error + 1e-9;
    residual(i) = at(i).value - before;
  }
  const Eigen::LLT<Eigen::MatrixXd> factor(between);
  const Eigen::VectorXd weights = size > 0 ? Eigen::VectorXd(factor.solve(residual)) : Eigen::VectorXd();
  std::vector<Expected> result;
  for (const LearningEntrant& each : entrants) {
    Eigen::VectorXd to(size);
    for (Eigen::Index i = 0; i < size; ++i) to(i) = covariance(each, entrants[at(i).entrant], spread);
    const double variance = covariance(each, each, spread) - (size > 0 ? to.dot(factor.solve(to)) : 0.0);
    result.push_back({.mean = before + (size > 0 ? to.dot(weights) : 0.0), .sd = std::sqrt(std::max(variance, 0.0))});
  }
  return result;
}

std::vector<EpochTimes> expected_times(std::span<const LearningEntrant> entrants) {
  std::vector<Known> known;
  double startup = 0, level = 0;
  for (std::size_t i = 0; i < entrants.size(); ++i) {
    const auto& times = entrants[i].times;
    if (!times) continue;
    known.push_back({.entrant = i, .value = std::log(times->epoch), .error = kTimesError});
    startup += times->startup;
    level += known.back().value;
  }
  const double count = std::max<double>(1, static_cast<double>(known.size()));
  const auto expected = expectations(entrants, known, level / count, kOfTimes);
  std::vector<EpochTimes> result;
  for (std::size_t i = 0; i < entrants.size(); ++i) {
    result.push_back(entrants[i].times.value_or(
        EpochTimes{.startup = startup / count, .epoch = std::exp(expected[i].mean), .log_sd = expected[i].sd}));
  }
  return result;
}

std::vector<EpochsToTarget> expected_epochs(std::span<const LearningEntrant> entrants, const CurvePolicy& policy) {
  std::vector<EpochsToTarget> result(entrants.size());
  std::vector<Known> known;
  for (std::size_t i = 0; i < entrants.size(); ++i) {
    if (entrants[i].crossings.empty()) continue;
    result[i] = epochs_to_target(entrants[i].crossings, policy.points_per_epoch);
    known.push_back({.entrant = i, .value = std::log(result[i].mean), .error = result[i].log_sd});
  }
  const auto expected = expectations(entrants, known, EpochsPrior{}.log_mean, kOfEpochs);
  for (std::size_t i = 0; i < entrants.size(); ++i) {
    if (!entrants[i].crossings.empty()) continue;
    result[i] = epochs_to_target({}, policy.points_per_epoch,
                                 {.log_mean = expected[i].mean, .log_sd = std::max(expected[i].sd, 0.02)});
  }
  return result;
}

}  // namespace

std::int64_t epochs_worth(const EpochTimes& of, double leader_log_seconds, double leader_log_error,
                          const CurvePolicy& policy) {
  const double seconds = 1.25 * std::exp(leader_log_seconds + 2 * leader_log_error);
  const double epochs = std::ceil((seconds - of.startup) / of.epoch);
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::clamp(epochs, 1.0, 1e6)), 1, policy.most_epochs);
}

std::vector<LearningStanding> standings(std::span<const LearningEntrant> entrants, const CurvePolicy& policy) {
  const std::vector<EpochsToTarget> epochs = expected_epochs(entrants, policy);
  const std::vector<EpochTimes> times = expected_times(entrants);
  std::vector<LearningStanding> result;
  for (std::size_t i = 0; i < entrants.size(); ++i) {
    LearningStanding each{.epochs = epochs[i], .times = times[i], .own = !entrants[i].crossings.empty()};
    const double training = each.epochs.mean * each.times.epoch, seconds = each.times.startup + training;
    each.log_seconds = std::log(seconds);
    each.log_error = std::hypot(training / seconds * each.epochs.log_sd, each.times.log_sd);
    result.push_back(each);
  }
  return result;
}

std::optional<NextCurve> next_curve(std::span<const LearningEntrant> entrants, const CurvePolicy& policy) {
  if (entrants.empty() || entrants.front().failed) return std::nullopt;
  const auto all = standings(entrants, policy);
  const auto curve_of = [&](std::size_t entrant, std::int64_t epochs) {
    const EpochTimes& times = all[entrant].times;
    return NextCurve{
        .entrant = entrant,
        .most_epochs = epochs,
        .seconds = times.startup + std::min(static_cast<double>(epochs), all[entrant].epochs.next_high) * times.epoch};
  };
  if (entrants.front().crossings.empty()) return curve_of(0, policy.most_epochs);
  std::size_t leader = 0;
  for (std::size_t i = 1; i < entrants.size(); ++i)
    if (!entrants[i].failed && all[i].own && all[i].log_seconds < all[leader].log_seconds) leader = i;
  const auto may_have_more = [&](std::size_t i) {
    return !entrants[i].failed && entrants[i].crossings.size() < policy.most_curves;
  };
  std::optional<std::size_t> challenger;
  double most = policy.least_improvement;
  for (std::size_t i = 0; i < entrants.size(); ++i) {
    if (i == leader || entrants[i].failed) continue;
    const double sd = std::hypot(all[i].log_error, all[leader].log_error);
    const double improvement = space::expected_improvement(all[i].log_seconds, sd, all[leader].log_seconds);
    if (improvement <= most || (!may_have_more(i) && !may_have_more(leader))) continue;
    most = improvement;
    challenger = i;
  }
  if (!challenger) return std::nullopt;
  const bool leader_is_vague = all[leader].log_error > all[*challenger].log_error;
  if (may_have_more(leader) && (leader_is_vague || !may_have_more(*challenger)))
    return curve_of(leader, policy.most_epochs);
  return curve_of(*challenger,
                  epochs_worth(all[*challenger].times, all[leader].log_seconds, all[leader].log_error, policy));
}

}  // namespace nocturne::measure
