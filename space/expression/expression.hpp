#pragma once

/// Expressions of constraints, conditions and bounds: a small, safe subset of Python.
///
///   or, and, not                     values count as true and false as in Python; and/or give the deciding operand
///   < <= > >= == != in, not in       chained: 1 < x <= 5; 'a' in 'abc'; x in [1, 2] or x in (1, 2)
///   + - * / // % ** and unary + -    / gives a float; // and % round towards minus infinity; ** binds to the right
///   min max abs len                  min and max of a list or of several arguments; len of a text or a list
///   True, False, 12, 0.5, 1e-3, 'text', "text", [a, b], (a, b)
///   parameter                        by its name
///   machine.cores                    a fact by its full name; lists of strings are lists
///
/// Differences from Python: integers have 64 bits, and a result that does not fit is an error; no text arithmetic; a
/// list stands only right of `in` and as an argument of min, max, len; comparing a text with a number is an error where
/// it can be seen in advance. Errors while evaluating (division by zero, overflow) are values, never undefined.
///
/// An inactive parameter has no value: what mentions it is not evaluated at all (see Space and ConstraintSpec).
///
/// Limits, for hostile input: kMaxLength bytes, kMaxDepth nested levels, kMaxNodes nodes.

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "space/facts.hpp"
#include "space/parameter.hpp"
#include "space/value.hpp"

namespace nocturne::space {

struct ExpressionError {
  std::size_t position = 0;  ///< byte offset in the text
  std::string message;       ///< one sentence: "unknown name 'thread', did you mean 'threads'?"

  /// The text and a line with a caret under the position.
  [[nodiscard]] std::string excerpt(std::string_view text) const;
};

/// A checked expression. Immutable, cheap to copy; may be evaluated from several threads at once.
class Expression {
 public:
  static constexpr std::size_t kMaxLength = 4096;
  static constexpr std::size_t kMaxDepth = 64;
  static constexpr std::size_t kMaxNodes = 1024;

  /// Parses and checks. Names are those of `parameters` and `facts`; facts become constants.
  [[nodiscard]] static std::expected<Expression, ExpressionError> parse(std::string_view text,
                                                                        std::span<const Parameter> parameters,
                                                                        const Facts& facts);

  [[nodiscard]] const std::string& text() const;
  /// Indices of the parameters that it mentions, ascending.
  [[nodiscard]] const std::vector<std::size_t>& mentions() const;
  /// Its value where parameter i has values[i] (those it does not mention are not read). The error says what failed
  /// and where. For many evaluations: Space compiles it (program.hpp).
  [[nodiscard]] std::expected<Value, ExpressionError> evaluate(std::span<const Value> values) const;
  /// Whether it holds: its value as Python's bool().
  [[nodiscard]] std::expected<bool, ExpressionError> holds(std::span<const Value> values) const;

  struct Tree;  ///< internal: see tree.hpp
  [[nodiscard]] const Tree& tree() const { return *tree_; }

 private:
  explicit Expression(std::shared_ptr<const Tree> tree) : tree_(std::move(tree)) {}
  std::shared_ptr<const Tree> tree_;
};

}  // namespace nocturne::space
