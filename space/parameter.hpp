#pragma once

/// A parameter as a file describes it (ParameterSpec) and as a space holds it, resolved on one machine (Parameter).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "space/stage.hpp"
#include "space/value.hpp"

namespace nocturne::space {

/// A number, or an expression over machine facts that gives one: 8, 0.5, "machine.cores // 2".
using Bound = std::variant<std::int64_t, double, std::string>;

struct BooleanSpec {};

/// lower, lower + step, …, up to and including upper. All three must come out as integers.
struct IntegerRangeSpec {
  Bound lower = std::int64_t{0};
  Bound upper = std::int64_t{0};
  Bound step = std::int64_t{1};
  bool logarithmic = false;  ///< encoded by its logarithm; needs lower > 0
};

/// Any number from lower to upper, both included.
struct RealRangeSpec {
  Bound lower = 0.0;
  Bound upper = 1.0;
  bool logarithmic = false;  ///< sampled and encoded by its logarithm; needs lower > 0
};

/// A list whose order means something: neighbours in it are similar.
struct OrdinalSpec {
  std::vector<Value> values;
};

/// A list without order.
struct CategoricalSpec {
  std::vector<Value> values;
};

using DomainSpec = std::variant<BooleanSpec, IntegerRangeSpec, RealRangeSpec, OrdinalSpec, CategoricalSpec>;

/// What Space::create() takes: plain, unchecked.
struct ParameterSpec {
  std::string name;  ///< letters, digits, underscores, also dotted; not a word of the expression language
  Stage stage = Stage::Run;
  DomainSpec domain;
  /// Absent: false, the first of a list, the lower end of a range. A text where the domain has no text (boolean,
  /// ranges, lists of numbers) is an expression over machine facts: "machine.cores".
  std::optional<Value> default_value{};
  std::string unit;         ///< "bytes", "threads"; may be empty
  std::string description;  ///< a sentence for people
  std::string active_if;    ///< expression over other parameters and facts; empty: always active
};

enum class Kind { Boolean, Integer, Real, Ordinal, Categorical };

[[nodiscard]] std::string_view to_text(Kind kind);  ///< boolean, integer, real, ordinal, categorical

/// A checked parameter with numbers in place of expressions. Immutable once its space exists.
///
/// All kinds but Real have `size()` values, numbered from 0 in their order (false before true).
/// Real values are decimal numbers: multiples of quantum() in a linear range (at least 10⁹ steps from end to end), nine
/// significant digits in a logarithmic one; so they survive encoding and JSON unchanged. round() takes any number
/// there.
struct Parameter {
  std::string name;
  Stage stage = Stage::Run;
  Kind kind = Kind::Boolean;
  Value default_value;
  std::string unit;
  std::string description;
  std::string active_if;  ///< empty: always active

  std::vector<Value> values;  ///< Boolean, Ordinal, Categorical: all of them, in order
  std::int64_t lower = 0;     ///< Integer: first value
  std::int64_t step = 1;      ///< Integer
  std::uint64_t steps = 0;    ///< Integer: number of values
  double real_lower = 0;      ///< Real
  double real_upper = 0;      ///< Real
  bool logarithmic = false;   ///< Integer, Real

  [[nodiscard]] bool is_conditional() const { return !active_if.empty(); }
  /// Whether neighbours in its order are similar: all but Categorical.
  [[nodiscard]] bool is_ordered() const { return kind != Kind::Categorical; }
  [[nodiscard]] bool is_real() const { return kind == Kind::Real; }
  /// Number of values. REQUIRES: not Real.
  [[nodiscard]] std::uint64_t size() const;
  /// REQUIRES: not Real, index < size().
  [[nodiscard]] Value value(std::uint64_t index) const;
  /// Number of that value; empty where it is none of them (1 is not 1.0). REQUIRES: not Real.
  [[nodiscard]] std::optional<std::uint64_t> index_of(const Value& value) const;
  [[nodiscard]] bool contains(const Value& value) const;

  /// Integer, Real: position of a number between the ends, 0 to 1, by logarithm where logarithmic. Linear else.
  [[nodiscard]] double to_unit(double number) const;
  /// The other way; the result of a Real is rounded to its decimals. REQUIRES: Real.
  [[nodiscard]] double real_from_unit(double position) const;
  /// The nearest value of a Real, inside its ends.
  [[nodiscard]] double round(double number) const;
  /// Distance of two values of a linear Real: a power of ten.
  [[nodiscard]] double quantum() const;

  /// "one of f32, bf16", "integer 1 to 8", "number 0.001 to 1 (logarithmic)".
  [[nodiscard]] std::string domain_text() const;
  /// name, stage, type, values or range, default, and what else is not empty.
  [[nodiscard]] nlohmann::json to_json() const;
};

}  // namespace nocturne::space
