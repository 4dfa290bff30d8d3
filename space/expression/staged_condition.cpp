#include "space/expression/staged_condition.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <memory>

namespace nocturne::space {

/// Finds slots, programs and open logical nodes of each step.
class StagedCondition::Builder {
 public:
  Builder(const Rule& rule, std::span<const std::size_t> order)
      : tree_(*rule.tree), root_(rule.root), order_(order), below_(nodes_below(tree_, root_)) {
    complete_.resize(tree_.nodes.size(), false);
  }

  std::optional<StagedCondition> run() {
    StagedCondition result;
    mark_complete({});
    if (complete_[root_]) {
      const auto program = Program::compile(tree_, root_, {});
      if (!program) return std::nullopt;
      result.at_start_ = program->run(nullptr).truth() ? Verdict::Holds : Verdict::Fails;
      return result;
    }
    for (std::size_t i = 0; i < order_.size(); ++i) {
      auto step = next_step(i);
      if (!step) return std::nullopt;
      result.steps_.push_back(std::move(*step));
    }
    return result;
  }

 private:
  void mark_complete(std::span<const std::size_t> placed) {
    for (const auto index : below_) {
      const auto& node = tree_.nodes[index];
      complete_[index] = node.operation == Operation::Parameter
                             ? std::ranges::find(placed, node.parameter) != placed.end()
                             : std::ranges::all_of(node.children, [&](NodeIndex child) { return complete_[child]; });
    }
  }

  /// Complete nodes that are no constants and have an incomplete parent, or are the root. A list is no value: where one
  /// is complete its items count in its place.
  std::vector<NodeIndex> find_slots() const {
    if (complete_[root_]) return {root_};
    std::vector<bool> needed(tree_.nodes.size(), false);
    const auto need = [&](auto& self, NodeIndex child) -> void {
      const auto& node = tree_.nodes[child];
      if (node.operation == Operation::List)
        for (const auto item : node.children) self(self, item);
      else if (complete_[child] && node.operation != Operation::Constant)
        needed[child] = true;
    };
    for (const auto index : below_) {
      if (complete_[index]) continue;
      for (const auto child : tree_.nodes[index].children) need(need, child);
    }
    std::vector<NodeIndex> slots;
    std::ranges::copy_if(below_, std::back_inserter(slots), [&](NodeIndex index) { return needed[index]; });
    return slots;
  }

  std::optional<Step> next_step(std::size_t i) {
    const auto old_slots = slots_;
    mark_complete(order_.first(i + 1));
    slots_ = find_slots();
    if (slots_.size() > kMaxSlots) return std::nullopt;
    Step step;
    step.last = complete_[root_];
    std::map<NodeIndex, std::uint32_t> inputs;
    for (std::uint32_t s = 0; s < old_slots.size(); ++s) inputs[old_slots[s]] = s;
    for (const auto index : below_) {
      const auto& node = tree_.nodes[index];
      if (node.operation == Operation::Parameter && node.parameter == order_[i])
        inputs[index] = static_cast<std::uint32_t>(old_slots.size());
    }
    for (const auto slot : slots_) {
      const auto old = std::ranges::find(old_slots, slot);
      if (old != old_slots.end()) {
        step.copies.emplace_back(static_cast<std::uint32_t>(old - old_slots.begin()));
        continue;
      }
      auto program = Program::compile(tree_, slot, inputs);
      if (!program) return std::nullopt;
      step.copies.emplace_back(std::nullopt);
      step.programs.push_back(std::move(*program));
    }
    if (!step.last) collect_logical(step);
    return step;
  }

  void collect_logical(Step& step) {
    std::vector<bool> reached(tree_.nodes.size(), false);
    const auto is_logical = [&](NodeIndex index) {
      const auto operation = tree_.nodes[index].operation;
      return operation == Operation::And || operation == Operation::Or || operation == Operation::Not;
    };
    reached[root_] = true;
    for (auto index = root_ + std::size_t{1}; index-- > 0;) {
      const auto node = static_cast<NodeIndex>(index);
      if (!reached[index] || complete_[index] || !is_logical(node)) continue;
      for (const auto child : tree_.nodes[index].children) reached[child] = true;
    }
    std::map<NodeIndex, std::uint32_t> places;
    const auto source = [&](NodeIndex child) {
      const auto& node = tree_.nodes[child];
      Source result{.may_fail = node.may_fail, .constant = std::nullopt};
      if (node.operation == Operation::Constant) {
        result.constant = node.constant.truth();
      } else if (complete_[child]) {
        result.kind = Source::Kind::Slot;
        result.index = slot_of(child);
      } else if (const auto place = places.find(child); place != places.end()) {
        result.kind = Source::Kind::Logical;
        result.index = place->second;
      } else {
        result.slots = slots_below(child);
      }
      return result;
    };
    for (NodeIndex index = 0; index <= root_; ++index) {
      if (!reached[index] || complete_[index] || !is_logical(index)) continue;
      const auto& node = tree_.nodes[index];
      Logical logical{.operation = node.operation, .left = source(node.children[0]), .right = {}};
      if (node.children.size() == 2) logical.right = source(node.children[1]);
      places[index] = static_cast<std::uint32_t>(step.logical.size());
      step.logical.push_back(logical);
    }
  }

  std::uint32_t slot_of(NodeIndex node) const {
    return static_cast<std::uint32_t>(std::ranges::find(slots_, node) - slots_.begin());
  }

  std::uint64_t slots_below(NodeIndex node) const {
    std::uint64_t bits = 0;
    const auto nodes = nodes_below(tree_, node);
    for (std::size_t s = 0; s < slots_.size(); ++s)
      if (std::ranges::binary_search(nodes, slots_[s])) bits |= std::uint64_t{1} << s;
    return bits;
  }

  const Expression::Tree& tree_;
  NodeIndex root_;
  std::span<const std::size_t> order_;
  std::vector<NodeIndex> below_;
  std::vector<bool> complete_;
  std::vector<NodeIndex> slots_;
};

std::optional<StagedCondition> StagedCondition::create(const Rule& rule, std::span<const std::size_t> order) {
  return Builder(rule, order).run();
}

std::size_t StagedCondition::slots_after(std::size_t steps) const {
  return steps == 0 || steps >= steps_.size() ? 0 : steps_[steps - 1].copies.size();
}

Verdict StagedCondition::advance(std::size_t index, std::span<const Operand> before, Operand value,
                                 std::span<Operand> after) const {
  const auto& step = steps_[index];
  // Raw storage: clearing it would cost more than the evaluation.
  alignas(Operand) std::array<std::byte, (kMaxSlots + 1) * sizeof(Operand)>
      storage;                                                // NOLINT: written before it is read
  auto* inputs = reinterpret_cast<Operand*>(storage.data());  // NOLINT
  std::uninitialized_copy(before.begin(), before.end(), inputs);
  std::construct_at(inputs + before.size(), value);
  if (step.last) {
    const bool holds = step.copies[0] ? before[*step.copies[0]].truth() : step.programs[0].run(inputs).truth();
    return holds ? Verdict::Holds : Verdict::Fails;
  }
  auto program = step.programs.begin();
  for (std::size_t slot = 0; slot < step.copies.size(); ++slot)
    after[slot] = step.copies[slot] ? before[*step.copies[slot]] : (program++)->run(inputs);
  return step.logical.empty() ? Verdict::Open : settle(step, after.first(step.copies.size()));
}

StagedCondition::Truth StagedCondition::truth_of(const Source& source, std::span<const Operand> slots,
                                                 std::span<const Truth> logical) {
  if (source.constant) return *source.constant ? Truth::True : Truth::False;
  if (source.kind == Source::Kind::Logical) return logical[source.index];
  if (source.kind == Source::Kind::Opaque) return Truth::Unknown;
  const auto& slot = slots[source.index];
  if (slot.is_failure()) return Truth::Fails;
  if (slot.is_nothing()) return Truth::Unknown;  // cleared: nobody asks
  return slot.truth() ? Truth::True : Truth::False;
}

StagedCondition::Truth StagedCondition::combine(const Logical& node, Truth left, Truth right) {
  if (left == Truth::Fails) return Truth::Fails;
  if (node.operation == Operation::Not) {
    if (left == Truth::Unknown) return left;
    return left == Truth::True ? Truth::False : Truth::True;
  }
  const auto deciding = node.operation == Operation::And ? Truth::False : Truth::True;
  if (left == deciding) return deciding;
  if (left != Truth::Unknown) return right;
  // The left side is evaluated first; only if it cannot fail may the right one decide.
  return right == deciding && !node.left.may_fail ? deciding : Truth::Unknown;
}

Verdict StagedCondition::settle(const Step& step, std::span<Operand> slots) {
  std::array<Truth, Expression::kMaxNodes> known;  // NOLINT: written before it is read
  for (std::size_t i = 0; i < step.logical.size(); ++i) {
    const auto& node = step.logical[i];
    const auto left = truth_of(node.left, slots, known);
    const auto right = node.operation == Operation::Not ? Truth::Unknown : truth_of(node.right, slots, known);
    known[i] = combine(node, left, right);
  }
  const auto root = known[step.logical.size() - 1];
  if (root == Truth::True) return Verdict::Holds;
  if (root != Truth::Unknown) return Verdict::Fails;
  clear_irrelevant(step, slots, std::span(known).first(step.logical.size()));
  return Verdict::Open;
}

void StagedCondition::clear_irrelevant(const Step& step, std::span<Operand> slots, std::span<const Truth> known) {
  std::uint64_t whole = 0;                           // slots whose value is needed
  std::uint64_t truth = 0;                           // slots of which only the truth is
  std::array<bool, Expression::kMaxNodes> relevant;  // NOLINT: the part that is read is cleared
  std::fill_n(relevant.begin(), step.logical.size(), false);
  relevant[step.logical.size() - 1] = true;
  const auto mark = [&](const Source& source) {
    if (source.constant) return;
    if (source.kind == Source::Kind::Logical) relevant[source.index] = true;
    if (source.kind == Source::Kind::Slot) truth |= std::uint64_t{1} << source.index;
    if (source.kind == Source::Kind::Opaque) whole |= source.slots;
  };
  for (auto i = step.logical.size(); i-- > 0;) {
    if (!relevant[i]) continue;
    const auto& node = step.logical[i];
    mark(node.left);
    if (node.operation == Operation::Not) continue;
    const auto left = truth_of(node.left, slots, known);
    const bool stops = left == Truth::Fails || left == (node.operation == Operation::And ? Truth::False : Truth::True);
    if (!stops) mark(node.right);
  }
  for (std::size_t slot = 0; slot < slots.size(); ++slot) {
    const auto bit = std::uint64_t{1} << slot;
    if ((whole & bit) != 0 || slots[slot].is_failure()) continue;
    slots[slot] = (truth & bit) != 0 && !slots[slot].is_nothing() ? Operand::of(slots[slot].truth()) : Operand();
  }
}

}  // namespace nocturne::space
