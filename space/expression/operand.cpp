#include "space/expression/operand.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace nocturne::space {
namespace {

// Comparing an int64 with a double through a double would make 2⁵³ + 1 equal to 2⁵³; Python compares exactly.
using Wide = long double;
static_assert(std::numeric_limits<Wide>::digits >= 64, "needs a type that holds every int64 and every double");

bool both_integral(Operand a, Operand b) {
  return a.is_integral() && b.is_integral();
}
bool both_numbers(Operand a, Operand b) {
  return a.is_number() && b.is_number();
}
Wide wide(Operand a) {
  return a.type() == Operand::Type::Float ? Wide{a.real()} : static_cast<Wide>(a.integer());
}
Operand wrong_types() {
  return Operand::failed(Failure::Types);
}
Operand overflow() {
  return Operand::failed(Failure::Overflow);
}

/// Quotient rounded towards minus infinity and the remainder with the sign of the divisor, as Python's divmod on
/// floats.
struct Division {
  double quotient;
  double remainder;
};
Division floor_division(double a, double b) {
  double remainder = std::fmod(a, b);
  double quotient = (a - remainder) / b;
  if (remainder == 0) {
    remainder = std::copysign(0.0, b);
  } else if ((b < 0) != (remainder < 0)) {
    remainder += b;
    quotient -= 1;
  }
  if (quotient == 0) return {std::copysign(0.0, a / b), remainder};
  // (a - remainder) / b is nearly an integer; take that integer.
  const double below = std::floor(quotient);
  return {quotient - below > 0.5 ? below + 1 : below, remainder};
}

Operand integer_power(std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  while (exponent > 0) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) return overflow();
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) return overflow();
  }
  return Operand::of(result);
}

}  // namespace

const char* to_text(Failure failure) {
  switch (failure) {
    case Failure::Overflow:
      return "the result is too large";
    case Failure::DivisionByZero:
      return "division by zero";
    case Failure::FractionalPower:
      return "a negative number to a fractional power";
    case Failure::Types:
      break;
  }
  return "a text where a number is needed, or the other way";
}

Operand Operand::of(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return of(text);
  if (const auto* flag = std::get_if<bool>(&value)) return of(*flag);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return of(*integer);
  return of(std::get<double>(value));
}

bool Operand::truth() const {
  if (is_integral()) return payload_ != 0;
  if (type_ == Type::Float) return real() != 0;
  return is_text() && !text().empty();
}

Value Operand::value() const {
  if (type_ == Type::Bool) return payload_ != 0;
  if (type_ == Type::Int) return integer();
  if (type_ == Type::Float) return real();
  return text();
}

Operand add(Operand a, Operand b) {
  if (std::int64_t sum = 0; both_integral(a, b))
    return __builtin_add_overflow(a.integer(), b.integer(), &sum) ? overflow() : Operand::of(sum);
  return both_numbers(a, b) ? Operand::of(a.number() + b.number()) : wrong_types();
}

Operand subtract(Operand a, Operand b) {
  if (std::int64_t difference = 0; both_integral(a, b))
    return __builtin_sub_overflow(a.integer(), b.integer(), &difference) ? overflow() : Operand::of(difference);
  return both_numbers(a, b) ? Operand::of(a.number() - b.number()) : wrong_types();
}

Operand multiply(Operand a, Operand b) {
  if (std::int64_t product = 0; both_integral(a, b))
    return __builtin_mul_overflow(a.integer(), b.integer(), &product) ? overflow() : Operand::of(product);
  return both_numbers(a, b) ? Operand::of(a.number() * b.number()) : wrong_types();
}

Operand divide(Operand a, Operand b) {
  if (!both_numbers(a, b)) return wrong_types();
  if (b.number() == 0) return Operand::failed(Failure::DivisionByZero);
  // Integers above 2⁵³ are not rounded before they are divided.
  if (both_integral(a, b)) return Operand::of(static_cast<double>(wide(a) / wide(b)));
  return Operand::of(a.number() / b.number());
}

Operand floor_divide(Operand a, Operand b) {
  if (!both_numbers(a, b)) return wrong_types();
  if (b.number() == 0) return Operand::failed(Failure::DivisionByZero);
  if (!both_integral(a, b)) return Operand::of(floor_division(a.number(), b.number()).quotient);
  const auto x = a.integer();
  const auto y = b.integer();
  if (y == -1) return negate(plus(a));  // the smallest integer has no counterpart
  return Operand::of(x / y - ((x % y != 0 && (x < 0) != (y < 0)) ? 1 : 0));
}

Operand modulo(Operand a, Operand b) {
  if (!both_numbers(a, b)) return wrong_types();
  if (b.number() == 0) return Operand::failed(Failure::DivisionByZero);
  if (!both_integral(a, b)) return Operand::of(floor_division(a.number(), b.number()).remainder);
  const auto y = b.integer();
  if (y == -1) return Operand::of(std::int64_t{0});  // the machine's instruction traps on the smallest integer
  const auto rest = a.integer() % y;
  return Operand::of(rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest);
}

Operand power(Operand a, Operand b) {
  if (!both_numbers(a, b)) return wrong_types();
  if (both_integral(a, b) && b.integer() >= 0) return integer_power(a.integer(), b.integer());
  const double base = a.number();
  const double exponent = b.number();
  if (base == 0 && exponent < 0) return Operand::failed(Failure::DivisionByZero);
  if (base < 0 && std::isfinite(base) && std::isfinite(exponent) && exponent != std::floor(exponent))
    return Operand::failed(Failure::FractionalPower);
  const double result = std::pow(base, exponent);
  return std::isinf(result) && std::isfinite(base) && std::isfinite(exponent) ? overflow() : Operand::of(result);
}

Operand negate(Operand a) {
  if (a.is_integral()) return subtract(Operand::of(std::int64_t{0}), a);
  return a.is_number() ? Operand::of(-a.real()) : wrong_types();
}

Operand plus(Operand a) {
  if (a.is_integral()) return Operand::of(a.integer());  // +True is 1
  return a.is_number() ? a : wrong_types();
}

Operand absolute(Operand a) {
  if (a.is_integral()) return a.integer() < 0 ? negate(a) : plus(a);
  return a.is_number() ? Operand::of(std::fabs(a.real())) : wrong_types();
}

Operand length(Operand a) {
  if (!a.is_text()) return wrong_types();
  const auto starts_character = [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; };
  return Operand::of(static_cast<std::int64_t>(std::ranges::count_if(a.text(), starts_character)));
}

Operand within(Operand a, Operand b) {
  if (!a.is_text() || !b.is_text()) return wrong_types();
  return Operand::of(b.text().find(a.text()) != std::string::npos);
}

bool equals(Operand a, Operand b) {
  if (both_integral(a, b)) return a.integer() == b.integer();
  if (both_numbers(a, b)) return wide(a) == wide(b);
  return a.is_text() && b.is_text() && (a == b || a.text() == b.text());
}

Operand less(Operand a, Operand b) {
  if (both_integral(a, b)) return Operand::of(a.integer() < b.integer());
  if (both_numbers(a, b)) return Operand::of(wide(a) < wide(b));
  return a.is_text() && b.is_text() ? Operand::of(a.text() < b.text()) : wrong_types();
}

Operand less_equal(Operand a, Operand b) {
  if (both_integral(a, b)) return Operand::of(a.integer() <= b.integer());
  if (both_numbers(a, b)) return Operand::of(wide(a) <= wide(b));
  return a.is_text() && b.is_text() ? Operand::of(a.text() <= b.text()) : wrong_types();
}

}  // namespace nocturne::space
