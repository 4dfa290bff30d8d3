#pragma once

/// A part of an expression as instructions for a small stack machine: what is evaluated millions of times.
///
/// Internal to space. Immutable; run() is reentrant, allocates nothing and takes some nanoseconds an instruction.

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "space/expression/tree.hpp"

namespace nocturne::space {

class Program {
 public:
  static constexpr std::size_t kMaxInstructions = 8192;
  static constexpr std::size_t kMaxStack = 256;

  /// `inputs` maps nodes whose value is given to run() to their place there; a parameter that is not among them is
  /// read at its own index. Empty: longer than kMaxInstructions or deeper than kMaxStack.
  [[nodiscard]] static std::optional<Program> compile(const Expression::Tree& tree, NodeIndex node,
                                                      const std::map<NodeIndex, std::uint32_t>& inputs);

  /// The node's value; a failure with its position; Nothing where an input that it needs is Nothing.
  [[nodiscard]] Operand run(const Operand* inputs) const;

 private:
  enum class Code : std::uint8_t {
    Push,       // constants_[argument]
    Load,       // inputs[argument]; ends with it where it is Nothing or a failure
    Unary,      // operation on the top
    Binary,     // operation on the two on top
    SkipFalse,  // jumps to argument and keeps the top where it is false; else drops it
    SkipTrue,
    Match,  // drops the top; where it equals the one below, that one becomes True and it jumps to argument
    Miss,   // the top becomes False
  };
  struct Instruction {
    Code code;
    Operation operation;
    std::uint32_t argument;
    std::uint32_t position;
  };
  class Compiler;

  std::vector<Instruction> instructions_;
  std::vector<Operand> constants_;
};

}  // namespace nocturne::space
