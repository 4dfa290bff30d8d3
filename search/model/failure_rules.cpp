#include "search/model/failure_rules.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

namespace nocturne::search::model {
namespace {

constexpr std::size_t kMostRules = 4096;    // not refuted: in a space where most fails, the first ones do
constexpr std::size_t kFailuresKept = 256;  // that a new candidate is held against, the latest
constexpr double kKnown = 0.9;              // what is forbidden for so sure suggests no further rules
constexpr double kMostOdds = 1e9;

std::uint64_t key_of(const FailureRules::Condition& condition) {
  return (static_cast<std::uint64_t>(condition.parameter) << 18) |
         (static_cast<std::uint64_t>(condition.relation) << 16) | condition.level;
}

}  // namespace

bool FailureRules::Condition::holds(space::Point point) const {
  if (relation == Relation::Any) return true;
  const auto there = point[parameter];
  if (there == space::kNoLevel) return false;
  return relation == Relation::Equal ? there == level : relation == Relation::AtLeast ? there >= level : there <= level;
}

std::vector<FailureRules::Condition> FailureRules::conditions_of(space::Point point) const {
  std::vector<Condition> conditions;
  for (std::size_t i = 0; i < point.size(); ++i) {
    const auto& axis = lattice_->axis(i);
    if (point[i] == space::kNoLevel || axis.levels < 2) continue;
    const auto parameter = static_cast<std::uint16_t>(i);
    if (!axis.ordered || axis.levels == 2) {
      conditions.push_back({.parameter = parameter, .relation = Relation::Equal, .level = point[i]});
      continue;
    }
    if (point[i] > 0) conditions.push_back({.parameter = parameter, .relation = Relation::AtLeast, .level = point[i]});
    if (point[i] + 1U < axis.levels)
      conditions.push_back({.parameter = parameter, .relation = Relation::AtMost, .level = point[i]});
  }
  return conditions;
}

void FailureRules::consider(const Condition& first, const Condition& second) {
  if (rules_.size() >= kMostRules || !considered_.insert((key_of(first) << 32) | key_of(second)).second) return;
  Rule rule{.conditions = {first, second}};
  for (std::size_t i = 0; i < worked_.size(); ++i)
    if (rule.meets(worked_[i])) return;
  for (auto i = failed_.size() - std::min(failed_.size(), kFailuresKept); i < failed_.size(); ++i)
    if (rule.meets(failed_[i])) rule.failures.push_back(static_cast<std::uint32_t>(i));
  rules_.push_back(std::move(rule));
}

void FailureRules::add_candidates(space::Point point) {
  const auto conditions = conditions_of(point);
  candidates_ = std::max(candidates_, conditions.size() * (conditions.size() + 1) / 2);
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    consider(conditions[i], {});
    for (auto j = i + 1; j < conditions.size(); ++j)
      if (conditions[i].parameter != conditions[j].parameter) consider(conditions[i], conditions[j]);
  }
}

void FailureRules::tell(space::Point point, bool worked) {
  if (worked) {
    worked_.push_back(point);
    std::erase_if(rules_, [&](const Rule& each) { return each.meets(point); });
  } else {
    const bool known = allows(point) < 1 - kKnown;
    const auto number = static_cast<std::uint32_t>(failed_.size());
    for (auto& each : rules_)
      if (each.meets(point)) each.failures.push_back(number);
    failed_.push_back(point);
    if (!known) add_candidates(point);
  }
  stale_ = true;
}

void FailureRules::clear() {
  worked_.clear();
  failed_.clear();
  rules_.clear();
  considered_.clear();
  causes_.clear();
  allowed_.clear();
  candidates_ = 1;
  stale_ = false;
}

void FailureRules::update() {
  if (!stale_) return;
  stale_ = false;
  const auto failed = static_cast<double>(failed_.size());
  const auto trials = failed + static_cast<double>(worked_.size());
  std::vector<double> odds;
  std::vector<double> explained_odds(failed_.size());  // by failure, the odds of all that explain it
  for (const auto& each : rules_) {
    const auto met = static_cast<double>(each.failures.size());
    const double rate = (failed - met + 0.5) / (trials - met + 1);
    odds.push_back(std::min(std::pow(rate, -met) / static_cast<double>(candidates_), kMostOdds));
    for (const auto failure : each.failures) explained_odds[failure] += odds.back();
  }
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    double most = 0;
    for (const auto failure : rules_[i].failures) most = std::max(most, explained_odds[failure]);
    rules_[i].blame = odds[i] / (1 + most);
  }
  std::vector<std::size_t> order(rules_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater{}, [&](std::size_t i) { return rules_[i].blame; });
  std::vector<Rule> sorted;
  std::vector<double> sorted_odds;
  for (const auto i : order) {
    sorted.push_back(std::move(rules_[i]));
    sorted_odds.push_back(odds[i]);
  }
  rules_ = std::move(sorted);
  find_causes(sorted_odds, explained_odds);
}

/// Failures that the same rules explain are one cause: the likeliest of them stands for all.
void FailureRules::find_causes(const std::vector<double>& odds, const std::vector<double>& explained_odds) {
  causes_.clear();
  allowed_.clear();
  std::vector<std::uint64_t> explained(explained_odds.size());
  for (std::size_t i = 0; i < std::min(kLooked, rules_.size()); ++i)
    for (const auto failure : rules_[i].failures) explained[failure] |= std::uint64_t{1} << i;
  std::unordered_map<std::uint64_t, double> weights;
  for (std::size_t f = 0; f < explained_odds.size(); ++f) {
    if (explained[f] == 0) continue;
    const auto [known, is_new] = weights.try_emplace(explained[f], explained_odds[f]);
    known->second = std::min(known->second, explained_odds[f]);
  }
  for (const auto& [rules, weight] : weights) {
    Cause cause{.rules = rules};
    for (std::size_t i = 0; i < kLooked; ++i)
      if ((rules >> i & 1) != 0) cause.shares[i] = odds[i] / (1 + weight);
    causes_.push_back(cause);
  }
  std::ranges::sort(causes_, {}, &Cause::rules);  // the order of a hash table is nobody's promise
}

/// One of the rules that explain a failure is its reason, so their shares add up; failures that no rule met explains in
/// common have reasons of their own, so what they allow is multiplied.
double FailureRules::allowed_under(std::uint64_t met) const {
  std::vector<std::pair<double, std::uint64_t>> forbidding;
  for (const auto& cause : causes_) {
    double share = 0;
    for (auto rest = cause.rules & met; rest != 0; rest &= rest - 1)
      share += cause.shares[static_cast<std::size_t>(std::countr_zero(rest))];
    if (share > 0) forbidding.emplace_back(std::min(share, 1.0), cause.rules & met);
  }
  std::ranges::stable_sort(forbidding, std::greater{}, &std::pair<double, std::uint64_t>::first);
  double allowed = 1;
  std::uint64_t counted = 0;
  for (const auto& [share, rules] : forbidding) {
    if ((rules & counted) != 0) continue;
    counted |= rules;
    allowed *= 1 - share;
  }
  return allowed;
}

double FailureRules::allows(space::Point point) {
  update();
  std::uint64_t met = 0;
  for (std::size_t i = 0; i < std::min(kLooked, rules_.size()); ++i)
    if (rules_[i].meets(point)) met |= std::uint64_t{1} << i;
  if (met == 0) return 1;
  const auto [known, is_new] = allowed_.try_emplace(met, 1.0);
  if (is_new) known->second = allowed_under(met);
  return known->second;
}

const std::vector<FailureRules::Rule>& FailureRules::rules() {
  update();
  return rules_;
}

}  // namespace nocturne::search::model
