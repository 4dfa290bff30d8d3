#include "space/counting/variable_order.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

namespace nocturne::space {
namespace {

/// What the state of one rule takes: parameters that it keeps as they are, and bits for the parts it has computed.
struct RuleState {
  bool open = false;
  double computed_bits = 0;
  std::vector<std::size_t> kept;
};

/// Estimates the states of one rule.
class RuleShape {
 public:
  RuleShape(const Rule& rule, std::span<const double> sizes)
      : rule_(rule), below_(nodes_below(*rule.tree, rule.root)), bits_(rule.tree->nodes.size(), 0) {
    for (const auto index : below_) bits_[index] = estimate(rule.tree->nodes[index], sizes);
    std::set<std::size_t> all(rule.reads.begin(), rule.reads.end());
    all.insert(rule.guards.begin(), rule.guards.end());
    for (const auto parameter : rule.reads)
      if (all.erase(parameter) != 0) steps_.push_back(parameter);
    steps_.insert(steps_.end(), all.begin(), all.end());
  }

  /// Parameters that change its state, in the order of the text.
  const std::vector<std::size_t>& steps() const { return steps_; }

  RuleState state(const std::vector<bool>& placed) const {
    const auto set = static_cast<std::size_t>(std::ranges::count_if(steps_, [&](std::size_t p) { return placed[p]; }));
    if (set == 0) return {};
    if (set == steps_.size()) {
      const bool waits = rule_.activates && !placed[*rule_.activates];
      return {.open = waits, .computed_bits = waits ? 1.0 : 0.0, .kept = {}};
    }
    RuleState result{.open = true, .kept = {}};
    std::vector<bool> complete(rule_.root + std::size_t{1}, false);
    std::vector<bool> counted(rule_.root + std::size_t{1}, false);
    for (const auto index : below_) {
      const auto& node = rule_.tree->nodes[index];
      complete[index] = node.operation == Operation::Parameter
                            ? placed[node.parameter]
                            : std::ranges::all_of(node.children, [&](NodeIndex child) { return complete[child]; });
      if (complete[index]) continue;
      for (const auto child : node.children) {
        if (!complete[child] || counted[child]) continue;
        counted[child] = true;
        if (rule_.tree->nodes[child].operation == Operation::Parameter)
          result.kept.push_back(rule_.tree->nodes[child].parameter);
        else
          result.computed_bits += bits_[child];
      }
    }
    return result;
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

/// An order under construction, with the estimated number of edges of its diagram.
class GreedyOrder {
 public:
  GreedyOrder(std::span<const std::size_t> members, std::span<const Rule> rules, std::span<const double> sizes)
      : rules_(rules), sizes_(sizes), touching_(sizes.size()), placed_(sizes.size(), false), states_(rules.size()) {
    std::set<std::size_t> seen;
    const auto add_candidate = [&](std::size_t parameter) {
      if (seen.insert(parameter).second) candidates_.push_back(parameter);
    };
    for (std::size_t r = 0; r < rules.size(); ++r) {
      shapes_.emplace_back(rules[r], sizes);
      for (const auto parameter : shapes_[r].steps()) {
        touching_[parameter].push_back(r);
        add_candidate(parameter);  // ties go to what the text names first
      }
      if (rules[r].activates) touching_[*rules[r].activates].push_back(r);
    }
    for (const auto parameter : members) add_candidate(parameter);
  }

  bool is_ready(std::size_t parameter) const {
    return std::ranges::all_of(touching_[parameter], [&](std::size_t r) {
      return rules_[r].activates != parameter ||
             std::ranges::all_of(shapes_[r].steps(), [&](std::size_t each) { return placed_[each]; });
    });
  }

  const std::vector<std::size_t>& candidates() const { return candidates_; }

  /// The parameter after which least has to be remembered. Without cycles of active_if there always is one.
  std::size_t best() {
    double least = std::numeric_limits<double>::infinity();
    std::size_t found = candidates_.front();
    for (const auto parameter : candidates_) {
      if (!is_ready(parameter)) continue;
      const auto before = swap_in(parameter);
      const double bits = bits_;
      swap_out(parameter, before);
      if (bits < least) {
        least = bits;
        found = parameter;
      }
    }
    return found;
  }

  void place(std::size_t parameter) {
    edges_ += std::exp2(bits_) * std::max(sizes_[parameter], 1.0);
    swap_in(parameter);
    order_.push_back(parameter);
    std::erase(candidates_, parameter);
  }

  double edges() const { return edges_; }
  const std::vector<std::size_t>& order() const { return order_; }

 private:
  struct Before {
    double bits;
    std::vector<RuleState> states;
  };

  Before swap_in(std::size_t parameter) {
    Before before{.bits = bits_, .states = {}};
    placed_[parameter] = true;
    for (const auto r : touching_[parameter])
      before.states.push_back(std::exchange(states_[r], shapes_[r].state(placed_)));
    bits_ = total_bits();
    return before;
  }

  void swap_out(std::size_t parameter, const Before& before) {
    placed_[parameter] = false;
    for (std::size_t i = 0; i < before.states.size(); ++i) states_[touching_[parameter][i]] = before.states[i];
    bits_ = before.bits;
  }

  /// A parameter that several rules keep is one memory. Nor is there more to know than all parameters of open rules.
  double total_bits() {
    double computed = 0;
    kept_.clear();
    known_.clear();
    for (std::size_t r = 0; r < states_.size(); ++r) {
      if (!states_[r].open) continue;
      computed += std::max(states_[r].computed_bits, 0.01);  // an open rule with nothing to remember is still open
      kept_.insert(states_[r].kept.begin(), states_[r].kept.end());
      for (const auto parameter : shapes_[r].steps())
        if (placed_[parameter]) known_.insert(parameter);
    }
    const auto bits_of = [&](const std::set<std::size_t>& parameters) {
      double sum = 0;
      for (const auto parameter : parameters) sum += std::log2(std::max(sizes_[parameter], 1.0));
      return sum;
    };
    return std::min(computed + bits_of(kept_), bits_of(known_) + 0.01);
  }

  std::span<const Rule> rules_;
  std::span<const double> sizes_;
  std::vector<RuleShape> shapes_;
  std::vector<std::vector<std::size_t>> touching_;  // rules whose state a parameter changes
  std::vector<std::size_t> candidates_;
  std::vector<bool> placed_;
  std::vector<RuleState> states_;
  std::set<std::size_t> kept_, known_;
  std::vector<std::size_t> order_;
  double bits_ = 0;
  double edges_ = 0;
};

}  // namespace

std::vector<std::size_t> order_variables(std::span<const std::size_t> members, std::span<const Rule> rules,
                                         std::span<const double> sizes) {
  // Greed depends much on where it begins; each start costs about the square of the members.
  const auto starts = std::max<std::size_t>(1, 5000 / (members.size() * members.size()));
  const GreedyOrder fresh(members, rules, sizes);
  std::vector<std::size_t> best;
  double least = std::numeric_limits<double>::infinity();
  std::size_t tried = 0;
  for (const auto first : fresh.candidates()) {
    if (!fresh.is_ready(first)) continue;
    auto attempt = fresh;
    attempt.place(first);
    while (!attempt.candidates().empty()) attempt.place(attempt.best());
    if (attempt.edges() < least) {
      least = attempt.edges();
      best = attempt.order();
    }
    if (++tried == starts) break;
  }
  return best;
}

}  // namespace nocturne::space
