#include "search/model/failure_rules.hpp"

#include <algorithm>
#include <cmath>

namespace nocturne::search::model {
namespace {

constexpr std::size_t kMostRules = 4096;    // not refuted: in a space where most fails, the first ones do
constexpr std::size_t kLooked = 64;         // rules that a prediction looks at: the rest adds nothing
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
    if (point[i] + 1U < axis.levels) {
      conditions.push_back({.parameter = parameter, .relation = Relation::AtMost, .level = point[i]});
    }
  }
  return conditions;
}

void FailureRules::consider(const Condition& first, const Condition& second) {
  if (rules_.size() >= kMostRules || !considered_.insert((key_of(first) << 32) | key_of(second)).second) return;
  Rule rule{.conditions = {first, second}};
  for (std::size_t i = 0; i < worked_.size(); ++i) {
    if (rule.meets(worked_[i])) return;
  }
  for (auto i = failed_.size() - std::min(failed_.size(), kFailuresKept); i < failed_.size(); ++i) {
    if (rule.meets(failed_[i])) rule.failures.push_back(static_cast<std::uint32_t>(i));
  }
  rules_.push_back(std::move(rule));
}

void FailureRules::suspect(space::Point point) {
  const auto conditions = conditions_of(point);
  candidates_ = std::max(candidates_, conditions.size() * (conditions.size() + 1) / 2);
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    consider(conditions[i], {});
    for (auto j = i + 1; j < conditions.size(); ++j) {
      if (conditions[i].parameter != conditions[j].parameter) consider(conditions[i], conditions[j]);
    }
  }
}

void FailureRules::tell(space::Point point, bool worked) {
  if (worked) {
    worked_.push_back(point);
    std::erase_if(rules_, [&](const Rule& each) { return each.meets(point); });
  } else {
    const bool known = allows(point) < 1 - kKnown;
    const auto number = static_cast<std::uint32_t>(failed_.size());
    for (auto& each : rules_) {
      if (each.meets(point)) each.failures.push_back(number);
    }
    failed_.push_back(point);
    if (!known) suspect(point);
  }
  stale_ = true;
}

void FailureRules::clear() {
  worked_.clear();
  failed_.clear();
  rules_.clear();
  considered_.clear();
  candidates_ = 1;
  stale_ = false;
}

void FailureRules::update() {
  if (!stale_) return;
  stale_ = false;
  const auto failed = static_cast<double>(failed_.size());
  const auto trials = failed + static_cast<double>(worked_.size());
  std::vector<double> odds;
  std::vector<double> suspected(failed_.size());  // by failure, the odds of all that explain it
  for (const auto& each : rules_) {
    const auto met = static_cast<double>(each.failures.size());
    const double rate = (failed - met + 0.5) / (trials - met + 1);
    odds.push_back(std::min(std::pow(rate, -met) / static_cast<double>(candidates_), kMostOdds));
    for (const auto failure : each.failures) suspected[failure] += odds.back();
  }
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    double most = 0;
    for (const auto failure : rules_[i].failures) most = std::max(most, suspected[failure]);
    rules_[i].blame = odds[i] / (1 + most);
  }
  std::ranges::stable_sort(rules_, std::greater{}, &Rule::blame);
}

double FailureRules::allows(space::Point point) {
  update();
  double allowed = 1;
  for (std::size_t i = 0; i < std::min(kLooked, rules_.size()); ++i) {
    if (rules_[i].meets(point)) allowed *= 1 - rules_[i].blame;
  }
  return allowed;
}

const std::vector<FailureRules::Rule>& FailureRules::rules() {
  update();
  return rules_;
}

}  // namespace nocturne::search::model
