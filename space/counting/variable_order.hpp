#pragma once

/// In which order a decision diagram sets its parameters. Internal to space.

#include <cstddef>
#include <span>
#include <vector>

#include "space/counting/rule.hpp"

namespace nocturne::space {

/// An order of `members` in which every parameter that an active_if mentions comes before the one that it activates.
/// Greedy: next comes the parameter that leaves the least to remember, estimated from the slots of the open rules (a
/// comparison one bit, a sum the larger operand and a bit, a product three quarters of both, …). Several beginnings are
/// tried, and the order with the fewest estimated edges is taken. Deterministic.
///
/// `sizes[i]` is the number of values of parameter i; `rules` are those among the members.
[[nodiscard]] std::vector<std::size_t> order_variables(std::span<const std::size_t> members,
                                                       std::span<const Rule> rules, std::span<const double> sizes);

}  // namespace nocturne::space
