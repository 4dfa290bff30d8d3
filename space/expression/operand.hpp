#pragma once

/// Values while an expression is evaluated: 16 bytes, no allocation, Python's arithmetic on 64-bit integers and
/// doubles.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

#include "space/value.hpp"

namespace nocturne::space {

/// Why an evaluation failed.
enum class Failure : std::uint32_t {
  Overflow,  ///< an integer does not fit 64 bits, or a float would be infinite
  DivisionByZero,
  FractionalPower,  ///< a negative number to a fractional power is not a real number
  Types,            ///< text where a number is needed, or the other way
};

[[nodiscard]] const char* to_text(Failure failure);

/// A tagged value without padding, so that equal ones have equal bytes. A text is a pointer: who owns the string
/// (a parameter, an expression, a configuration) must outlive the operand. Comparisons look at the text, not the
/// pointer.
class Operand {
 public:
  enum class Type : std::uint32_t { Nothing, Failure, Bool, Int, Float, Text };

  constexpr Operand() = default;  // Nothing: the value of an inactive parameter
  static constexpr Operand of(bool value) { return {Type::Bool, 0, value ? 1U : 0U}; }
  static constexpr Operand of(std::int64_t value) { return {Type::Int, 0, static_cast<std::uint64_t>(value)}; }
  static constexpr Operand of(double value) { return {Type::Float, 0, std::bit_cast<std::uint64_t>(value)}; }
  static Operand of(const std::string* text) { return {Type::Text, 0, std::bit_cast<std::uint64_t>(text)}; }
  static constexpr Operand failed(Failure why, std::uint32_t position = 0) {
    return {Type::Failure, position, static_cast<std::uint64_t>(why)};
  }
  /// Points into `value` where it is a text.
  static Operand of(const Value& value);

  [[nodiscard]] constexpr Type type() const { return type_; }
  [[nodiscard]] constexpr bool is_nothing() const { return type_ == Type::Nothing; }
  [[nodiscard]] constexpr bool is_failure() const { return type_ == Type::Failure; }
  [[nodiscard]] constexpr bool is_text() const { return type_ == Type::Text; }
  [[nodiscard]] constexpr bool is_integral() const { return type_ == Type::Bool || type_ == Type::Int; }
  [[nodiscard]] constexpr bool is_number() const { return is_integral() || type_ == Type::Float; }

  [[nodiscard]] constexpr std::int64_t integer() const { return static_cast<std::int64_t>(payload_); }
  [[nodiscard]] constexpr double real() const { return std::bit_cast<double>(payload_); }
  [[nodiscard]] const std::string& text() const { return *std::bit_cast<const std::string*>(payload_); }
  [[nodiscard]] constexpr Failure failure() const { return static_cast<Failure>(payload_); }
  [[nodiscard]] constexpr std::uint32_t position() const { return position_; }  ///< where a failure happened
  /// The same failure with the place where it happened; other operands unchanged.
  [[nodiscard]] constexpr Operand at(std::uint32_t position) const {
    return is_failure() ? Operand{type_, position, payload_} : *this;
  }

  /// REQUIRES: is_number().
  [[nodiscard]] constexpr double number() const {
    return type_ == Type::Float ? real() : static_cast<double>(integer());
  }
  /// Python's bool(): zero and empty text are false. Nothing and failures are false.
  [[nodiscard]] bool truth() const;
  /// REQUIRES: neither Nothing nor a failure.
  [[nodiscard]] Value value() const;

  /// Bytewise: the same pointer for texts, 1 is not 1.0. For tables of states.
  friend constexpr bool operator==(const Operand&, const Operand&) = default;
  [[nodiscard]] constexpr std::uint64_t hash() const {
    return (payload_ ^ (static_cast<std::uint64_t>(type_) << 56U) ^ position_) * 0x9E3779B97F4A7C15U;
  }

 private:
  constexpr Operand(Type type, std::uint32_t position, std::uint64_t payload)
      : type_(type), position_(position), payload_(payload) {}
  Type type_ = Type::Nothing;
  std::uint32_t position_ = 0;
  std::uint64_t payload_ = 0;
};
static_assert(sizeof(Operand) == 16);

// Each gives a failure where Python raises, and where an integer does not fit. Arguments are neither Nothing nor
// failures.
[[nodiscard]] Operand add(Operand a, Operand b);
[[nodiscard]] Operand subtract(Operand a, Operand b);
[[nodiscard]] Operand multiply(Operand a, Operand b);
[[nodiscard]] Operand divide(Operand a, Operand b);
[[nodiscard]] Operand floor_divide(Operand a, Operand b);
[[nodiscard]] Operand modulo(Operand a, Operand b);
[[nodiscard]] Operand power(Operand a, Operand b);
[[nodiscard]] Operand negate(Operand a);
[[nodiscard]] Operand plus(Operand a);
[[nodiscard]] Operand absolute(Operand a);
[[nodiscard]] Operand length(Operand a);             ///< length of a text in UTF-8 code points
[[nodiscard]] Operand within(Operand a, Operand b);  ///< text a is part of text b
[[nodiscard]] bool equals(Operand a, Operand b);     ///< a text equals no number
[[nodiscard]] Operand less(Operand a, Operand b);
[[nodiscard]] Operand less_equal(Operand a, Operand b);

}  // namespace nocturne::space
