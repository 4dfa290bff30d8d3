#pragma once

/// A condition evaluated parameter by parameter, remembering no more than it still needs. Internal to space.
///
/// After some parameters are set, what the rest of the evaluation depends on are the values of the largest complete
/// parts of the expression, its *slots*: of a * b * c <= 64 after a and b the one number a * b. Partial assignments
/// with equal slots have equal futures; a decision diagram merges them. What can no longer matter is cleared, so that
/// more of them are equal: in (mode == 1 and x < y) or z, x is forgotten where mode is not 1.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "space/counting/rule.hpp"
#include "space/expression/program.hpp"

namespace nocturne::space {

enum class Verdict : std::uint8_t { Open, Holds, Fails };

class StagedCondition {
 public:
  /// REQUIRES: `order` contains each of rule.reads once, in the order in which they will be set.
  /// Empty: too complicated (Program::compile).
  [[nodiscard]] static std::optional<StagedCondition> create(const Rule& rule, std::span<const std::size_t> order);

  /// Open, except where the condition is a constant.
  [[nodiscard]] Verdict at_start() const { return at_start_; }
  [[nodiscard]] std::size_t steps() const { return steps_.size(); }
  /// Number of slots after so many steps; 0 before the first and after the last.
  [[nodiscard]] std::size_t slots_after(std::size_t steps) const;
  /// Sets the parameter of that step. `before` holds slots_after(step) slots, `after` gets slots_after(step + 1) where
  /// the verdict is Open. A failed evaluation is Fails.
  [[nodiscard]] Verdict advance(std::size_t step, std::span<const Operand> before, Operand value,
                                std::span<Operand> after) const;

  static constexpr std::size_t kMaxSlots = 64;

 private:
  /// Where a logical node finds an operand: a slot, a logical node of the same step, or a part that is still open.
  struct Source {
    enum class Kind : std::uint8_t { Slot, Logical, Opaque };
    Kind kind = Kind::Opaque;
    std::uint32_t index = 0;       // of the slot or the logical node
    std::uint64_t slots = 0;       // Opaque: all slots below, one bit each
    bool may_fail = true;          // its evaluation could fail
    std::optional<bool> constant;  // a constant's truth
  };
  struct Logical {
    Operation operation;  // And, Or, Not
    Source left;
    Source right;  // And, Or
  };
  struct Step {
    std::vector<std::optional<std::uint32_t>> copies;  // of each new slot: the old slot that it is
    std::vector<Program> programs;                     // of the others, in order; inputs: old slots, then the value
    std::vector<Logical> logical;  // open And, Or, Not reached from the root through such; root last
    bool last = false;             // the one program gives the verdict
  };
  enum class Truth : std::uint8_t { Unknown, False, True, Fails };
  class Builder;

  static Truth truth_of(const Source& source, std::span<const Operand> slots, std::span<const Truth> logical);
  static Truth combine(const Logical& node, Truth left, Truth right);
  static Verdict settle(const Step& step, std::span<Operand> slots);
  static void clear_irrelevant(const Step& step, std::span<Operand> slots, std::span<const Truth> known);

  std::vector<Step> steps_;
  Verdict at_start_ = Verdict::Open;
};

}  // namespace nocturne::space
