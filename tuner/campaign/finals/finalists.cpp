#include "tuner/campaign/finals/finalists.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <tuple>
#include <utility>

#include "tuner/campaign/answer/default_settings.hpp"

namespace nocturne::tuner {
namespace {

/// Variance of the log of a trial's estimate, between-process spread included.
double log_variance(const space::Estimate& estimate, double process_sd) {
  const double runs = std::max(1, estimate.runs);
  const double of_samples = estimate.value > 0 ? estimate.standard_error / estimate.value : 0;
  return of_samples * of_samples + process_sd * process_sd / runs;
}

bool may_be_faster(const Belief& one, const Belief& fastest) {
  return one.log_time - fastest.log_time <= 2 * std::hypot(one.error, fastest.error);
}

/// Of those that have a belief the one of the smallest estimate, then trial 0, where it is another one and has a
/// belief.
std::vector<std::size_t> smallest_and_default(std::span<const db::StoredTrial> trials,
                                              std::span<const std::optional<Belief>> beliefs) {
  std::optional<std::size_t> smallest, baseline;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (!beliefs[i]) continue;
    if (!smallest || trials[i].trial.estimate->value < trials[*smallest].trial.estimate->value) smallest = i;
    if (trials[i].trial.number == 0) baseline = i;
  }
  std::vector<std::size_t> both;
  if (smallest) both.push_back(*smallest);
  if (baseline && baseline != smallest) both.push_back(*baseline);
  return both;
}

}  // namespace

bool within_noise(const space::Estimate& a, const space::Estimate& b, double process_sd) {
  return std::abs(std::log(a.value / b.value)) <=
         2 * std::sqrt(log_variance(a, process_sd) + log_variance(b, process_sd));
}

std::vector<Finalist> choose_finalists(std::span<const db::StoredTrial> trials,
                                       std::span<const std::optional<Belief>> beliefs, std::size_t most) {
  assert(trials.size() == beliefs.size());
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < trials.size(); ++i)
    if (beliefs[i]) order.push_back(i);
  // A millionth is none: where nothing makes a difference the default, which came first, is the fastest.
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return std::round(1e6 * beliefs[i]->log_time); });

  const auto baseline = std::ranges::find(trials, 0, [](const db::StoredTrial& each) { return each.trial.number; });
  std::vector<Finalist> finalists;
  const auto add = [&](std::size_t i) {
    const space::Configuration& configuration = trials[i].trial.configuration;
    const bool twin = std::ranges::any_of(
        finalists, [&](const Finalist& each) { return trials[each.trial].trial.configuration == configuration; });
    if (twin) return;
    const bool known = baseline != trials.end();
    finalists.push_back({.trial = i,
                         .belief = *beliefs[i],
                         .changes = known ? changes_between(baseline->trial.configuration, configuration).size() : 1});
  };
  std::vector<std::size_t> last = smallest_and_default(trials, beliefs);
  for (const std::size_t i : order) {
    if (!finalists.empty() && finalists.size() + last.size() >= most) break;
    if (!finalists.empty() && !may_be_faster(*beliefs[i], finalists.front().belief)) break;
    std::erase(last, i);
    add(i);
  }
  for (const std::size_t i : last) {
    const bool is_default = trials[i].trial.number == 0;
    if (finalists.size() < most && (!is_default || finalists.size() > 1)) add(i);
  }
  return finalists;
}

measure::Race race_between(std::span<const Finalist> finalists, double margin_percent, int most_pairs,
                           std::uint64_t seed, std::vector<measure::RaceAnswer> known) {
  std::vector<measure::Entrant> entrants;
  for (const Finalist& each : finalists)
    entrants.push_back({.gain = -each.belief.log_time, .error = each.belief.error});
  return {std::move(entrants),
          {.most_pairs = most_pairs, .margin = std::log1p(margin_percent / 100)},
          seed,
          std::move(known)};
}

std::size_t winner_of(const measure::Race& race, std::span<const Finalist> finalists, double margin_percent) {
  const std::size_t leader = race.leader();
  if (finalists[leader].changes == 0) return leader;
  const auto standings = race.standings();
  const double least = standings[leader].gain - std::log1p(margin_percent / 100);
  const auto rank = [&](std::size_t i) { return std::tuple(finalists[i].changes, -standings[i].gain); };
  std::size_t winner = leader;
  for (std::size_t i = 0; i < finalists.size(); ++i) {
    const bool equal = !race.has_left(i) && finalists[i].changes > 0 && standings[i].gain >= least;
    if (equal && rank(i) < rank(winner)) winner = i;
  }
  return winner;
}

}  // namespace nocturne::tuner
