#include "space/variable_order.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace nocturne::space {
namespace {

/// How many bits the states of one rule take while some of its parameters are set.
class RuleCost {
 public:
  RuleCost(const Rule& rule, std::span<const double> sizes)
      : rule_(rule), below_(nodes_below(*rule.tree, rule.root)), bits_(rule.tree->nodes.size(), 0) {
    for (const auto index : below_) bits_[index] = estimate(rule.tree->nodes[index], sizes);
    std::set<std::size_t> all(rule.reads.begin(), rule.reads.end());
    all.insert(rule.guards.begin(), rule.guards.end());
    for (const auto parameter : rule.reads) {
      if (all.erase(parameter) != 0) steps_.push_back(parameter);
    }
    steps_.insert(steps_.end(), all.begin(), all.end());
  }

  /// Parameters that change its state, in the order of the text.
  const std::vector<std::size_t>& steps() const { return steps_; }

  double bits(const std::vector<bool>& placed) const {
    const auto set = static_cast<std::size_t>(std::ranges::count_if(steps_, [&](std::size_t p) { return placed[p]; }));
    if (set == 0) return 0;
    if (set == steps_.size()) return rule_.activates && !placed[*rule_.activates] ? 1 : 0;
    std::vector<bool> complete(rule_.root + std::size_t{1}, false);
    std::vector<bool> counted(rule_.root + std::size_t{1}, false);
    double sum = 0;
    for (const auto index : below_) {
      const auto& node = rule_.tree->nodes[index];
      complete[index] = node.operation == Operation::Parameter
                            ? placed[node.parameter]
                            : std::ranges::all_of(node.children, [&](NodeIndex child) { return complete[child]; });
      if (complete[index]) continue;
      for (const auto child : node.children) {
        if (complete[child] && !counted[child]) {
          counted[child] = true;
          sum += bits_[child];
        }
      }
    }
    return std::max(sum, 0.1);  // an open rule with nothing to remember is still open
  }

 private:
  double estimate(const Node& node, std::span<const double> sizes) const {
    const auto child = [&](std::size_t i) { return bits_[node.children[i]]; };
    switch (node.operation) {
      case Operation::Constant:
        return 0;
      case Operation::Parameter:
        return std::log2(std::max(sizes[node.parameter], 1.0));
      case Operation::Negate:
      case Operation::Plus:
      case Operation::Absolute:
      case Operation::Length:
      case Operation::Modulo:
        return child(0);
      case Operation::Add:
      case Operation::Subtract:
        return std::max(child(0), child(1)) + (std::min(child(0), child(1)) > 0 ? 1 : 0);
      case Operation::Multiply:
      case Operation::Divide:
      case Operation::FloorDivide:
      case Operation::Power:
        return std::min(child(0), child(1)) > 0 ? 0.75 * (child(0) + child(1)) : child(0) + child(1);
      case Operation::Minimum:
      case Operation::Maximum:
      case Operation::List: {
        double most = 0;
        for (const auto each : node.children) most = std::max(most, bits_[each]);
        return most;
      }
      default:
        return 1;  // true or false
    }
  }

  const Rule& rule_;
  std::vector<NodeIndex> below_;
  std::vector<double> bits_;
  std::vector<std::size_t> steps_;
};

}  // namespace

std::vector<std::size_t> order_variables(std::span<const std::size_t> members, std::span<const Rule> rules,
                                         std::span<const double> sizes) {
  std::vector<RuleCost> costs;
  for (const auto& rule : rules) costs.emplace_back(rule, sizes);
  std::vector<std::vector<std::size_t>> touching(sizes.size());  // rules whose state a parameter changes
  std::vector<std::size_t> first_named;                          // ties go to what the text names first
  for (std::size_t r = 0; r < costs.size(); ++r) {
    for (const auto parameter : costs[r].steps()) {
      touching[parameter].push_back(r);
      first_named.push_back(parameter);
    }
    if (rules[r].activates) touching[*rules[r].activates].push_back(r);
  }
  first_named.insert(first_named.end(), members.begin(), members.end());

  std::vector<bool> placed(sizes.size(), false);
  const auto ready = [&](std::size_t parameter) {
    return std::ranges::all_of(touching[parameter], [&](std::size_t r) {
      return rules[r].activates != parameter ||
             std::ranges::all_of(costs[r].steps(), [&](std::size_t each) { return placed[each]; });
    });
  };
  const auto bits_of = [&](std::size_t parameter) {
    double sum = 0;
    for (const auto r : touching[parameter]) sum += costs[r].bits(placed);
    return sum;
  };

  std::vector<std::size_t> candidates;  // in the order of ties, each once
  std::set<std::size_t> seen;
  for (const auto parameter : first_named) {
    if (seen.insert(parameter).second) candidates.push_back(parameter);
  }
  std::vector<std::size_t> order;
  while (!candidates.empty()) {
    auto best = candidates.end();
    double least = std::numeric_limits<double>::infinity();
    for (auto each = candidates.begin(); each != candidates.end(); ++each) {
      if (!ready(*each)) continue;
      const double before = bits_of(*each);
      placed[*each] = true;
      const double growth = bits_of(*each) - before;
      placed[*each] = false;
      if (growth < least) {
        least = growth;
        best = each;
      }
    }
    // Without cycles of active_if, which create() refuses, one candidate is always ready.
    placed[*best] = true;
    order.push_back(*best);
    candidates.erase(best);
  }
  return order;
}

}  // namespace nocturne::space
