#pragma once

/// What counting needs of a constraint or of an active_if. Internal to space.

#include <cstddef>
#include <optional>
#include <vector>

#include "space/expression/tree.hpp"

namespace nocturne::space {

/// A condition over the values of some parameters (reads) that counts only if certain others are active (guards).
///
/// A constraint is one rule for each operand of its outermost `and`: each can be decided as early as its own parameters
/// allow, and as failure and falsehood both violate, nothing changes. An active_if is one rule.
struct Rule {
  const Expression::Tree* tree = nullptr;
  NodeIndex root = 0;
  std::vector<std::size_t> reads;        // parameters below root, in the order in which the text names them
  std::vector<std::size_t> guards;       // conditional parameters that the whole expression mentions, ascending
  std::optional<std::size_t> activates;  // the parameter whose active_if it is
  std::size_t constraint = 0;            // else the number of its constraint
};

/// The nodes below `root` and itself, ascending (children before parents).
[[nodiscard]] std::vector<NodeIndex> nodes_below(const Expression::Tree& tree, NodeIndex root);

/// REQUIRES: conditional[i] tells whether parameter i has an active_if.
[[nodiscard]] std::vector<Rule> constraint_rules(const Expression::Tree& tree, std::size_t constraint,
                                                 const std::vector<bool>& conditional);
[[nodiscard]] Rule activity_rule(const Expression::Tree& tree, std::size_t parameter,
                                 const std::vector<bool>& conditional);

}  // namespace nocturne::space
