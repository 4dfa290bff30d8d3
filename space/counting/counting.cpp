#include "space/counting/counting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <stdexcept>
#include <utility>

#include "space/counting/variable_order.hpp"

namespace nocturne::space {
namespace {

// Disjoint sets: what belongs together because something joins it.

/// Union-find with path halving.
class Partition {
 public:
  explicit Partition(std::size_t size) : parents_(size) { std::iota(parents_.begin(), parents_.end(), std::size_t{0}); }

  void join(std::size_t a, std::size_t b) {
    a = find(a);
    b = find(b);
    parents_[a < b ? b : a] = a < b ? a : b;  // the smallest member stands for its set
  }

  [[nodiscard]] std::size_t find(std::size_t member) {
    while (parents_[member] != member) member = parents_[member] = parents_[parents_[member]];
    return member;
  }

 private:
  std::vector<std::size_t> parents_;
};

constexpr std::size_t kEstimateTries = 20'000;  // 1 % of standard error where a third is valid, 10 % where 1/200 is

/// All parameters that decide a rule, and the one that it activates.
std::vector<std::size_t> joined_by(const Rule& rule) {
  auto all = rule.reads;
  all.insert(all.end(), rule.guards.begin(), rule.guards.end());
  if (rule.activates) all.push_back(*rule.activates);
  return all;
}

}  // namespace

Counting::Counting(const Space::Compiled& compiled) : compiled_(compiled) {
  const auto count = compiled.parameters.size();
  std::vector<bool> conditional(count);
  for (std::size_t i = 0; i < count; ++i) {
    conditional[i] = compiled.activity[i].has_value();
    value_counts_.push_back(compiled.parameters[i].is_real() ? 1 : compiled.parameters[i].size());
  }
  std::vector<Rule> rules;
  for (std::size_t i = 0; i < count; ++i)
    if (conditional[i]) rules.push_back(activity_rule(compiled.activity[i]->expression().tree(), i, conditional));
  const auto unreadable = [&](std::size_t parameter) {
    return compiled_.parameters[parameter].is_real() || value_counts_[parameter] > kMaxRead;
  };
  for (std::size_t i = 0; i < compiled.requirements.size(); ++i) {
    for (auto& rule : constraint_rules(compiled.requirements[i].expression().tree(), i, conditional))
      if (std::ranges::any_of(rule.reads, unreadable))
        reject(rule);
      else
        rules.push_back(std::move(rule));
  }
  values_.resize(count);
  for (const auto& rule : rules) {
    for (const auto parameter : rule.reads) {
      if (!values_[parameter].empty()) continue;
      for (std::uint64_t v = 0; v < value_counts_[parameter]; ++v)
        values_[parameter].push_back(compiled.operand(parameter, v));
    }
  }
  std::vector<std::size_t> members(count);
  for (std::size_t i = 0; i < count; ++i) members[i] = i;
  if (compiled.rows) take_rows(members, rules);
  build(members, std::move(rules), 0);
  values_.clear();
  values_.shrink_to_fit();
  make_groups();
}

/// The table is a component of its own; what its parameters' active_if say is in its rows already.
void Counting::take_rows(std::vector<std::size_t>& members, std::vector<Rule>& rules) {
  const auto& columns = compiled_.rows->columns;
  const auto is_column = [&](std::size_t parameter) { return std::ranges::find(columns, parameter) != columns.end(); };
  std::erase_if(members, is_column);
  std::erase_if(rules, [&](const Rule& rule) { return rule.activates && is_column(*rule.activates); });
  components_.push_back({.members = columns, .diagram = {}, .rows = &*compiled_.rows});
}

void Counting::Component::at(Count number, std::span<Choice> choices) const {
  if (rows == nullptr) return diagram.at(number, choices);
  const auto row = rows->table.row(static_cast<std::size_t>(number.bits()));
  for (std::size_t c = 0; c < row.size(); ++c)
    choices[rows->columns[c]] = row[c] == kNoValue ? kInactive : Choice{row[c]};
}

void Counting::reject(const Rule& rule) {
  rejecting_.push_back(rule);
}

std::vector<double> Counting::sizes() const {
  std::vector<double> result;
  for (const auto each : value_counts_) result.push_back(static_cast<double>(each));
  return result;
}

void Counting::build(const std::vector<std::size_t>& members, std::vector<Rule> rules, int attempt) {
  Partition partition(value_counts_.size());
  for (const auto& rule : rules) {
    const auto all = joined_by(rule);
    for (const auto parameter : all) partition.join(all[0], parameter);
  }
  std::map<std::size_t, std::vector<std::size_t>> parts;
  for (const auto parameter : members) parts[partition.find(parameter)].push_back(parameter);
  std::map<std::size_t, std::vector<Rule>> rules_of;
  for (auto& rule : rules) {
    // A constraint that reads nothing and has no guards holds, or the default configuration would violate it.
    if (const auto all = joined_by(rule); !all.empty()) rules_of[partition.find(all[0])].push_back(std::move(rule));
  }
  for (auto& [root, part] : parts) build_connected(part, std::move(rules_of[root]), attempt);
}

void Counting::build_connected(const std::vector<std::size_t>& members, std::vector<Rule> rules, int attempt) {
  const auto value_sizes = sizes();
  const auto order = order_variables(members, rules, value_sizes);
  // After a failure less is tried, so that several of them do not add up to many seconds.
  const int shift = std::min(attempt, 3);
  auto diagram = Diagram::build({.order = order,
                                 .rules = rules,
                                 .values = values_,
                                 .sizes = value_counts_,
                                 .node_limit = Space::kNodeLimit >> shift,
                                 .edge_limit = Space::kEdgeLimit >> shift});
  if (diagram && !diagram->total().is_saturated()) {
    components_.push_back({.members = members, .diagram = std::move(*diagram)});
    return;
  }
  // The constraint over the most combinations is left to rejection; what remains may fall apart into smaller parts.
  const auto combinations = [&](const Rule& rule) {
    if (rule.activates) return -1.0;
    double bits = 0;
    for (const auto parameter : rule.reads) bits += std::log2(value_sizes[parameter]);
    return bits;
  };
  const auto heaviest = std::ranges::max_element(rules, {}, combinations);
  if (heaviest == rules.end() || heaviest->activates)
    throw std::length_error("the conditions of activity join too many parameters to be counted");
  reject(*heaviest);
  rules.erase(heaviest);
  build(members, std::move(rules), attempt + 1);
}

void Counting::make_groups() {
  std::vector<std::size_t> component_of(value_counts_.size());
  for (std::size_t c = 0; c < components_.size(); ++c)
    for (const auto parameter : components_[c].members) component_of[parameter] = c;
  Partition partition(components_.size());
  for (const auto& rule : rejecting_) {
    const auto all = joined_by(rule);
    for (const auto parameter : all) partition.join(component_of[all[0]], component_of[parameter]);
  }
  std::map<std::size_t, Group> groups;
  for (std::size_t c = 0; c < components_.size(); ++c) groups[partition.find(c)].components.push_back(c);
  for (const auto& rule : rejecting_) {
    auto& tested = groups[partition.find(component_of[joined_by(rule)[0]])].tested;
    if (std::ranges::find(tested, rule.constraint) == tested.end()) tested.push_back(rule.constraint);
  }
  for (auto& [root, group] : groups) groups_.push_back(std::move(group));
}

void Counting::fill(std::span<const std::size_t> members, std::span<const Choice> choices,
                    Assignment& assignment) const {
  for (const auto parameter : members)
    if (choices[parameter] == kInactive)
      assignment[parameter] = Operand();
    else if (compiled_.parameters[parameter].is_real())
      assignment[parameter] = Operand::of(compiled_.parameters[parameter].real_lower);  // draw() moves it
    else
      assignment[parameter] = compiled_.operand(parameter, choices[parameter]);
}

void Counting::draw(const Group& group, Random& random, std::span<Choice> choices, Assignment& assignment) const {
  for (const auto c : group.components) {
    const auto& component = components_[c];
    component.at(random.below(component.total()), choices);
    fill(component.members, choices, assignment);
    for (const auto parameter : component.members) {
      const auto& held = compiled_.parameters[parameter];
      if (held.is_real() && choices[parameter] != kInactive)
        assignment[parameter] = Operand::of(held.real_from_unit(random.unit()));
    }
  }
}

bool Counting::passes(const Group& group, const Assignment& assignment) const {
  return std::ranges::all_of(group.tested,
                             [&](std::size_t constraint) { return compiled_.satisfies(constraint, assignment); });
}

std::optional<Assignment> Counting::sample(Random& random) const {
  std::vector<Choice> choices(value_counts_.size());
  Assignment assignment(value_counts_.size());
  for (const auto& group : groups_) {
    std::size_t tries = 0;
    do {
      if (tries++ == Space::kSampleTries) return std::nullopt;
      draw(group, random, choices, assignment);
    } while (!passes(group, assignment));
  }
  return assignment;
}

Assignment Counting::at(Count number) const {
  std::vector<Choice> choices(value_counts_.size());
  Assignment assignment(value_counts_.size());
  auto rest = number.bits();
  for (const auto& component : components_) {
    const auto total = component.total().bits();
    assert(total > 0);  // the default configuration is valid
    component.at(Count::from_bits(rest % total), choices);
    fill(component.members, choices, assignment);
    rest /= total;
  }
  return assignment;
}

Size Counting::count() const {
  std::call_once(measured_, [this] { size_ = measure(); });
  return size_;
}

Size Counting::measure() const {
  const auto varies = [](const Parameter& each) { return each.is_real() && each.real_lower < each.real_upper; };
  if (std::ranges::any_of(compiled_.parameters, varies)) return {.kind = Size::Kind::Infinite, .count = {}};
  Size size{.kind = Size::Kind::Exact, .count = Count(1), .approximate = 1};
  double relative_variance = 0;
  std::vector<Choice> choices(value_counts_.size());
  Assignment assignment(value_counts_.size());
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const auto& group = groups_[g];
    for (const auto c : group.components) {
      size.count = size.count * components_[c].total();
      size.approximate *= components_[c].total().to_double();
    }
    if (group.tested.empty()) continue;
    size.kind = Size::Kind::Estimate;
    Random random(0, g);  // the estimate of a space is always the same
    std::size_t valid = 0;
    for (std::size_t i = 0; i < kEstimateTries; ++i) {
      draw(group, random, choices, assignment);
      if (passes(group, assignment)) ++valid;
    }
    const double share = static_cast<double>(valid) / static_cast<double>(kEstimateTries);
    size.approximate *= share;
    // Binomial; the relative variances of independent factors add.
    if (valid != 0) relative_variance += (1 - share) / (share * static_cast<double>(kEstimateTries));
  }
  if (size.kind == Size::Kind::Estimate) {
    size.count = Count();
    size.standard_error = size.approximate * std::sqrt(relative_variance);
  }
  return size;
}

Effort Counting::effort() const {
  Effort effort{.components = components_.size()};
  for (const auto& component : components_) {
    effort.nodes += component.diagram.nodes();
    effort.edges += component.diagram.edges();
  }
  std::set<std::size_t> tested;
  for (const auto& rule : rejecting_) tested.insert(rule.constraint);
  effort.rejecting = tested.size();
  return effort;
}

}  // namespace nocturne::space
