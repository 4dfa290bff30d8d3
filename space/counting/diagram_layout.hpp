#pragma once

/// Where the state of each rule lies in a diagram's nodes, layer by layer. Internal to space.

#include <cstddef>
#include <optional>
#include <vector>

#include "space/counting/diagram.hpp"

namespace nocturne::space {

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

/// Empty: a rule is too complicated.
[[nodiscard]] std::optional<DiagramLayout> plan_layers(const DiagramInput& input);

}  // namespace nocturne::space
