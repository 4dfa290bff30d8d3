#include "space/counting/diagram_layout.hpp"

#include <algorithm>
#include <map>

namespace nocturne::space {
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

}  // namespace

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

}  // namespace nocturne::space
