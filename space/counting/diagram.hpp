#pragma once

/// A multi-valued decision diagram: all valid assignments of one component, merged where their futures are equal.
///
/// Internal to space. Layer k sets the k-th parameter of the order. A node is a distinct state of the open rules (see
/// StagedCondition); an edge leads from a node, for one value, to a node of the next layer or to nothing. The number of
/// assignments below each node, summed from the last layer up, gives count and numbering: assignment number r of a node
/// is found by walking past the edges whose counts r exceeds. Drawing r uniformly draws an assignment uniformly.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "space/count.hpp"
#include "space/expression/staged_condition.hpp"

namespace nocturne::space {

/// The number of a parameter's value; kInactive where it has none.
using Choice = std::uint64_t;
inline constexpr Choice kInactive = std::numeric_limits<Choice>::max();

struct DiagramInput {
  std::span<const std::size_t> order;            // parameters, each after what activates it
  std::span<const Rule> rules;                   // over these parameters only
  std::span<const std::vector<Operand>> values;  // of every parameter that a rule reads
  std::span<const std::uint64_t> sizes;          // numbers of values; 1 for a real range
  std::size_t node_limit = 0;
  std::size_t edge_limit = 0;
};

class Diagram {
 public:
  /// Empty: it would pass a limit, or a rule is too complicated.
  [[nodiscard]] static std::optional<Diagram> build(const DiagramInput& input);

  [[nodiscard]] Count total() const { return total_; }
  [[nodiscard]] std::size_t nodes() const;
  [[nodiscard]] std::size_t edges() const;
  /// Writes the choices of assignment `number` to choices[parameter], for the parameters of this diagram.
  /// REQUIRES: number < total(), total() is not saturated.
  void at(Count number, std::span<Choice> choices) const;

 private:
  static constexpr std::uint32_t kDead = std::numeric_limits<std::uint32_t>::max();
  struct Layer {
    std::size_t parameter = 0;
    std::uint64_t size = 1;
    bool indifferent = false;             // no rule reads it: an active node has one edge for all its values
    std::vector<std::uint32_t> first;     // of each node: its first edge; one more at the end
    std::vector<bool> active;             // of each node: whether the parameter is
    std::vector<std::uint32_t> children;  // of each edge
    std::vector<Count> counts;            // of each node
  };
  class Builder;

  std::vector<Layer> layers_;
  Count total_;
};

}  // namespace nocturne::space
