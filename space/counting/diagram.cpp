#include "space/counting/diagram.hpp"

#include <algorithm>
#include <cassert>
#include <map>
#include <ranges>
#include <utility>

namespace nocturne::space {

// Where the state of each rule lies in a diagram's nodes, layer by layer. Internal to space.

/// What one layer does to one rule. A rule's state is a status (Nothing: open; True; False) and then its slots.
///
/// False of a constraint means: violated, unless one of its guards turns out to be inactive. True of an active_if
/// means: holds, unless a parameter that it mentions turns out to be inactive.
struct Move {
  std::size_t rule = 0;
  bool starts = false;  // has no state before this layer
  bool ends = false;    // has none after
  std::size_t from = 0, from_slots = 0;
  std::size_t to = 0, to_slots = 0;
  bool touches = false;                  // the layer's parameter is read or a guard
  std::optional<std::size_t> read_step;  // which of the condition's steps this is
  bool guards_left = false;              // guards come after this layer
};

struct LayerPlan {
  std::vector<Move> carried;  // copied unchanged, for all values alike
  std::vector<Move> touched;
  std::size_t width = 0;                // operands of a node of this layer
  std::optional<std::size_t> activity;  // operand that tells whether the parameter is active
  bool never_active = false;            // its active_if is a constant falsehood
};

struct DiagramLayout {
  std::vector<StagedCondition> conditions;  // by rule
  std::vector<LayerPlan> layers;
};

namespace {

/// When a rule's state begins, changes and ends, in positions of the order.
struct Life {
  std::vector<std::size_t> reads;   // ascending
  std::vector<std::size_t> guards;  // ascending
  std::size_t first = 0;
  std::size_t last = 0;  // the layer that uses it up

  /// Whether the rule has a state before that layer.
  bool spans(std::size_t layer) const { return first < layer && layer <= last; }
  std::size_t reads_before(std::size_t layer) const {
    return static_cast<std::size_t>(std::ranges::lower_bound(reads, layer) - reads.begin());
  }
};

std::optional<Life> life_of(const Rule& rule, const std::map<std::size_t, std::size_t>& position) {
  Life life;
  for (const auto parameter : rule.reads) life.reads.push_back(position.at(parameter));
  for (const auto parameter : rule.guards) life.guards.push_back(position.at(parameter));
  std::ranges::sort(life.reads);
  std::ranges::sort(life.guards);
  auto all = life.reads;
  all.insert(all.end(), life.guards.begin(), life.guards.end());
  if (all.empty()) return std::nullopt;
  life.first = std::ranges::min(all);
  life.last = rule.activates ? position.at(*rule.activates) : std::ranges::max(all);
  return life;
}

/// Empty: a rule is too complicated.
std::optional<DiagramLayout> plan_layers(const DiagramInput& input) {
  std::map<std::size_t, std::size_t> position;
  for (std::size_t i = 0; i < input.order.size(); ++i) position[input.order[i]] = i;

  DiagramLayout layout;
  std::vector<std::optional<Life>> lives;
  for (const auto& rule : input.rules) {
    lives.push_back(life_of(rule, position));
    auto reads = rule.reads;
    std::ranges::sort(reads, {}, [&](std::size_t parameter) { return position.at(parameter); });
    auto condition = StagedCondition::create(rule, reads);
    if (!condition) return std::nullopt;
    layout.conditions.push_back(std::move(*condition));
  }

  std::vector<std::size_t> offsets(input.rules.size());  // in the state before the present layer
  for (std::size_t k = 0; k < input.order.size(); ++k) {
    LayerPlan plan;
    std::size_t next_width = 0;
    for (std::size_t r = 0; r < input.rules.size(); ++r) {
      const auto& condition = layout.conditions[r];
      const bool activates = input.rules[r].activates == input.order[k];
      if (!lives[r]) {
        plan.never_active = plan.never_active || (activates && condition.at_start() == Verdict::Fails);
        continue;
      }
      const auto& life = *lives[r];
      if (!life.spans(k) && life.first != k) continue;
      const auto done = life.reads_before(k);
      Move move{.rule = r,
                .starts = life.first == k,
                .ends = life.last == k,
                .from = offsets[r],
                .from_slots = condition.slots_after(done),
                .touches = std::ranges::binary_search(life.reads, k) || std::ranges::binary_search(life.guards, k),
                .read_step = std::nullopt,
                .guards_left = !life.guards.empty() && life.guards.back() > k};
      if (!move.starts) plan.width += 1 + move.from_slots;
      if (activates) plan.activity = move.from;
      if (std::ranges::binary_search(life.reads, k)) move.read_step = done;
      if (!move.ends) {
        move.to = next_width;
        move.to_slots = condition.slots_after(life.reads_before(k + 1));
        next_width += 1 + move.to_slots;
        offsets[r] = move.to;
      }
      (move.touches ? plan.touched : plan.carried).push_back(move);
    }
    layout.layers.push_back(std::move(plan));
  }
  return layout;
}

/// The distinct states of one layer, numbered in the order in which they were found. Open addressing.
class StateTable {
 public:
  explicit StateTable(std::size_t width) : width_(width), slots_(16, kEmpty) {}

  std::uint32_t insert(std::span<const Operand> state) {
    if ((size_ + 1) * 2 > slots_.size()) grow();
    auto slot = hash(state) & (slots_.size() - 1);
    while (slots_[slot] != kEmpty) {
      if (std::ranges::equal(at(slots_[slot]), state)) return slots_[slot];
      slot = (slot + 1) & (slots_.size() - 1);
    }
    slots_[slot] = static_cast<std::uint32_t>(size_++);
    states_.insert(states_.end(), state.begin(), state.end());
    return slots_[slot];
  }

  std::span<const Operand> at(std::uint32_t number) const {
    return std::span(states_).subspan(number * width_, width_);
  }
  std::size_t size() const { return size_; }
  std::size_t operands() const { return states_.size(); }

 private:
  static constexpr std::uint32_t kEmpty = ~std::uint32_t{0};

  static std::uint64_t hash(std::span<const Operand> state) {
    std::uint64_t value = 0;
    for (const auto& each : state) {
      value = (value ^ each.hash()) * 0xFF51AFD7ED558CCDU;
      value ^= value >> 32U;
    }
    return value;
  }

  void grow() {
    slots_.assign(slots_.size() * 2, kEmpty);
    for (std::uint32_t number = 0; number < size_; ++number) {
      auto slot = hash(at(number)) & (slots_.size() - 1);
      while (slots_[slot] != kEmpty) slot = (slot + 1) & (slots_.size() - 1);
      slots_[slot] = number;
    }
  }

  std::size_t width_;
  std::size_t size_ = 0;
  std::vector<Operand> states_;
  std::vector<std::uint32_t> slots_;
};

}  // namespace

class Diagram::Builder {
 public:
  Builder(const DiagramInput& input, const DiagramLayout& layout) : input_(input), layout_(layout) {}

  std::optional<Diagram> run() {
    Diagram diagram;
    StateTable states(0);
    states.insert({});
    for (std::size_t k = 0; k < input_.order.size(); ++k) {
      const auto next_width = k + 1 < input_.order.size() ? layout_.layers[k + 1].width : 0;
      StateTable next(next_width);
      out_.assign(next_width, Operand());
      diagram.layers_.push_back(start_layer(k));
      if (!fill(diagram.layers_.back(), layout_.layers[k], states, next)) return std::nullopt;
      states = std::move(next);
    }
    sum_counts(diagram, states.size());
    return diagram;
  }

 private:
  Layer start_layer(std::size_t k) const {
    Layer layer;
    layer.parameter = input_.order[k];
    layer.size = input_.sizes[layer.parameter];
    layer.indifferent = std::ranges::none_of(input_.rules, [&](const Rule& rule) {
      return std::ranges::find(rule.reads, layer.parameter) != rule.reads.end();
    });
    return layer;
  }

  /// Whether it stayed inside the limits.
  bool fill(Layer& layer, const LayerPlan& plan, const StateTable& states, StateTable& next) {
    nodes_ += states.size();
    for (std::uint32_t node = 0; node < states.size(); ++node) {
      const auto state = states.at(node);
      const bool active = !plan.never_active && (!plan.activity || state[*plan.activity].truth());
      layer.first.push_back(static_cast<std::uint32_t>(layer.children.size()));
      layer.active.push_back(active);
      for (const auto& move : plan.carried) carry(move, state);
      if (!active || layer.indifferent) {
        layer.children.push_back(follow(plan, state, active, Operand(), next));
      } else {
        if (edges_ + layer.children.size() + layer.size > input_.edge_limit) return false;
        for (const auto& value : input_.values[layer.parameter])
          layer.children.push_back(follow(plan, state, true, value, next));
      }
      if (nodes_ + next.size() > input_.node_limit || next.operands() > 4 * input_.node_limit) return false;
    }
    layer.first.push_back(static_cast<std::uint32_t>(layer.children.size()));
    edges_ += layer.children.size();
    return true;
  }

  static void copy(std::span<const Operand> state, const Move& move, std::span<Operand> out) {
    std::ranges::copy(state.subspan(move.from, 1 + move.from_slots), out.subspan(move.to).begin());
  }

  void carry(const Move& move, std::span<const Operand> state) {
    if (!move.ends) copy(state, move, out_);  // what ends here untouched is the active_if of this layer's parameter
  }

  std::uint32_t follow(const LayerPlan& plan, std::span<const Operand> state, bool active, Operand value,
                       StateTable& next) {
    for (const auto& move : plan.touched)
      if (!touch(move, state, active, value)) return kDead;
    return next.insert(out_);
  }

  /// Whether the assignment may still become valid.
  bool touch(const Move& move, std::span<const Operand> state, bool active, Operand value) {
    const auto& condition = layout_.conditions[move.rule];
    const bool is_constraint = !input_.rules[move.rule].activates;
    const auto slots = move.ends ? std::span<Operand>() : std::span(out_).subspan(move.to + 1, move.to_slots);
    const auto old_slots = move.starts ? std::span<const Operand>() : state.subspan(move.from + 1, move.from_slots);
    Operand status;
    if (!move.starts)
      status = state[move.from];
    else if (condition.at_start() != Verdict::Open)
      status = Operand::of(condition.at_start() == Verdict::Holds);
    if (!active) {
      status = Operand::of(is_constraint);
    } else if (status.is_nothing()) {
      if (!move.read_step) {
        std::ranges::copy(old_slots, slots.begin());
      } else if (const auto verdict = condition.advance(*move.read_step, old_slots, value, slots);
                 verdict != Verdict::Open) {
        status = Operand::of(verdict == Verdict::Holds);
      }
    }
    if (is_constraint && !status.is_nothing() && !status.truth() && !move.guards_left) return false;
    if (!status.is_nothing()) std::ranges::fill(slots, Operand());
    if (!move.ends) out_[move.to] = status;
    return true;
  }

  static void sum_counts(Diagram& diagram, std::size_t terminals) {
    std::vector<Count> below(terminals, Count(1));
    for (auto& layer : std::views::reverse(diagram.layers_)) {
      const auto nodes = layer.active.size();
      layer.counts.resize(nodes);
      for (std::size_t node = 0; node < nodes; ++node) {
        Count sum;
        for (auto edge = layer.first[node]; edge < layer.first[node + 1]; ++edge)
          if (layer.children[edge] != kDead) sum = sum + below[layer.children[edge]];
        if (layer.indifferent && layer.active[node]) sum = sum * Count(layer.size);
        layer.counts[node] = sum;
      }
      below = layer.counts;
    }
    diagram.total_ = below.empty() ? Count() : below[0];
  }

  const DiagramInput& input_;
  const DiagramLayout& layout_;
  std::vector<Operand> out_;  // state of the next layer, while it is put together
  std::size_t nodes_ = 0;
  std::size_t edges_ = 0;
};

std::optional<Diagram> Diagram::build(const DiagramInput& input) {
  const auto layout = plan_layers(input);
  if (!layout) return std::nullopt;
  return Builder(input, *layout).run();
}

std::size_t Diagram::nodes() const {
  std::size_t sum = 0;
  for (const auto& layer : layers_) sum += layer.active.size();
  return sum;
}

std::size_t Diagram::edges() const {
  std::size_t sum = 0;
  for (const auto& layer : layers_) sum += layer.children.size();
  return sum;
}

void Diagram::at(Count number, std::span<Choice> choices) const {
  auto rest = number.bits();
  std::uint32_t node = 0;
  for (std::size_t k = 0; k < layers_.size(); ++k) {
    const auto& layer = layers_[k];
    const auto below = [&](std::uint32_t edge) -> Count::Bits {
      const auto child = layer.children[edge];
      if (child == kDead) return 0;
      return k + 1 < layers_.size() ? layers_[k + 1].counts[child].bits() : 1;
    };
    auto edge = layer.first[node];
    Choice choice = 0;
    if (layer.indifferent && layer.active[node]) {
      const auto each = below(edge);
      assert(each > 0);  // a node that leads nowhere is dead
      choice = static_cast<Choice>(rest / each);
      rest %= each;
    } else {
      for (; rest >= below(edge); ++edge, ++choice) rest -= below(edge);
    }
    choices[layer.parameter] = layer.active[node] ? choice : kInactive;
    node = layer.children[edge];
  }
}

}  // namespace nocturne::space
