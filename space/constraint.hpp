#pragma once

/// What every configuration of a space must satisfy, with the sentence the user sees when one does not.

#include <string>

namespace nocturne::space {

/// Also what Space::create() takes.
///
/// A constraint that mentions an inactive parameter says nothing about that configuration: it counts as satisfied. One
/// whose evaluation fails (division by zero, integer overflow) is violated, and the reason says what failed.
struct ConstraintSpec {
  std::string require;  ///< expression (space/expression/expression.hpp) over parameters and facts
  std::string because;  ///< a sentence: "without AVX512_BF16 bf16 is emulated, several times slower"
  friend bool operator==(const ConstraintSpec&, const ConstraintSpec&) = default;
};

}  // namespace nocturne::space
