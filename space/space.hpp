#pragma once

/// All configurations of a campaign: parameters, conditions of activity, constraints.
///
/// A space is immutable; copies share it; all member functions may be called from several threads at once.
///
/// Activity. A parameter is active if its `active_if` holds; an `active_if` that mentions an inactive parameter does
/// not hold. Inactive parameters are absent from a configuration, so two configurations never differ in them alone.
///
/// Counting. A decision diagram is built when it is first needed: one parameter a layer, one node for each distinct
/// value of what the open constraints still have to know (the parts of an expression whose parameters are set), so
/// that a product over eight parameters costs its distinct partial products, not their combinations. Parameters that
/// no expression joins are counted apart. From the counts below each node follow exact count, uniform sampling and
/// numbering. Constraints that mention a real range, and those for which a diagram would pass kNodeLimit nodes or
/// kEdgeLimit edges, are left out of it and tested afterwards: sampling stays exactly uniform (rejection), the count
/// becomes an estimate with its standard error.

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "space/configuration.hpp"
#include "space/count.hpp"
#include "space/counting/row_table.hpp"
#include "space/facts.hpp"
#include "space/parameter.hpp"
#include "space/random.hpp"

namespace nocturne::space {

// What every configuration of a space must satisfy, with the sentence the user sees when one does not.

/// Also what Space::create() takes.
///
/// A constraint that mentions an inactive parameter says nothing about that configuration: it counts as satisfied. One
/// whose evaluation fails (division by zero, integer overflow) is violated, and the reason says what failed.
struct ConstraintSpec {
  std::string require;  ///< expression (space/expression/expression.hpp) over parameters and facts
  std::string because;  ///< a sentence: "without AVX512_BF16 bf16 is emulated, several times slower"
  friend bool operator==(const ConstraintSpec&, const ConstraintSpec&) = default;
};

/// What is wrong with a description of a space.
struct SpaceError {
  std::string path;  ///< JSON pointer inside the space: "/parameters/3/active_if", "/constraints/0/require"
  std::optional<std::size_t> position;  ///< byte offset in that expression
  std::string message;                  ///< one sentence, no newline
  std::string excerpt;                  ///< the expression and a line with a caret under the place; or empty

  /// "path: message", and the excerpt on lines of its own.
  [[nodiscard]] std::string to_text() const;
};

/// How far a neighbour may lie in an ordered parameter.
enum class Reach {
  Adjacent,  ///< the next values up and down; a real range: 1/20 of it up and down. Unordered: all values
  All,       ///< all values (integer ranges of more than 64: 64 spread over it); a real range: 21 spread over it
};

/// What counting took.
struct Effort {
  std::size_t components = 0;  ///< groups of parameters that no expression joins
  std::size_t nodes = 0;       ///< distinct states of all diagrams
  std::size_t edges = 0;       ///< values tried in them
  std::size_t rejecting = 0;   ///< constraints left to rejection
};

class Enumerator;

class Space {
 public:
  static constexpr std::size_t kNodeLimit = 1'000'000;    ///< limit for one diagram: below 250 MB, half a second
  static constexpr std::size_t kEdgeLimit = 10'000'000;   ///< likewise: 40 MB
  static constexpr std::size_t kRealGrid = 11;            ///< values of a real range that are enumerated
  static constexpr std::size_t kSampleTries = 1'000'000;  ///< rejections before sample() gives up

  /// Checks everything and reports all that is wrong, not only the first: names, bounds, empty domains, defaults
  /// outside their domain, expressions, cycles of active_if, a default configuration that a constraint forbids.
  /// With `rows` the parameters of the table take exactly its combinations: neither a constraint nor the active_if of a
  /// parameter on the other side may join them with the rest, and each row must be as their active_if say.
  [[nodiscard]] static std::expected<Space, std::vector<SpaceError>> create(std::span<const ParameterSpec> parameters,
                                                                            std::span<const ConstraintSpec> constraints,
                                                                            const Facts& facts,
                                                                            const RowTableSpec* rows = nullptr);

  [[nodiscard]] const std::vector<Parameter>& parameters() const;
  /// nullptr: no parameter of that name.
  [[nodiscard]] const Parameter* find(std::string_view name) const;
  [[nodiscard]] const std::vector<ConstraintSpec>& constraints() const;
  /// Valid, always.
  [[nodiscard]] const Configuration& default_configuration() const;

  /// Empty: valid. Else all reasons: unknown, missing, inactive or impossible values, and the sentences of the
  /// constraints that are violated.
  [[nodiscard]] std::vector<std::string> check(const Configuration& configuration) const;
  [[nodiscard]] bool contains(const Configuration& configuration) const;
  /// The same for a configuration given by the numbers of its values, a cell a parameter: for millions of them.
  /// REQUIRES: cells.size() == parameters().size(), no parameter is Real.
  [[nodiscard]] bool admits(std::span<const Cell> cells) const;
  /// Drops what is inactive or unknown, gives what is active and missing its default, rounds real values. Values
  /// outside their domain and violated constraints stay, for check() to report.
  [[nodiscard]] Configuration normalise(const Configuration& configuration) const;

  /// Product of the sizes of all domains, constraints and activity left aside.
  [[nodiscard]] Size cardinality() const;
  /// Number of valid configurations. Infinite: a real range is among the parameters.
  [[nodiscard]] Size count() const;
  [[nodiscard]] Effort effort() const;

  /// Uniform over the valid configurations (a real range: uniform over it, by its logarithm where logarithmic; it
  /// weighs as one value against its absence). Empty: none exists, or none was found in kSampleTries tries.
  [[nodiscard]] std::optional<Configuration> sample(Random& random) const;
  /// The valid configuration with that number, 0 … count - 1, in an order of the diagram's own; a bijection.
  /// Empty: number too large, or count() is not exact.
  [[nodiscard]] std::optional<Configuration> at(Count number) const;
  /// All valid configurations, one after the other: by stage, so that what is expensive to prepare changes last, then
  /// in the order of declaration. Real ranges: kRealGrid values.
  [[nodiscard]] Enumerator enumerate() const;
  /// The same; stops where `visit` returns false. Returns whether it came to the end.
  bool for_each(const std::function<bool(const Configuration&)>& visit) const;
  /// Valid configurations that differ from a valid one in one parameter, and in what that activates (with its
  /// defaults) or deactivates; in the order of declaration, without duplicates.
  [[nodiscard]] std::vector<Configuration> neighbours(const Configuration& configuration, Reach reach) const;

  /// {"parameters": […], "constraints": […]} as resolved on this machine; equal spaces give equal text.
  [[nodiscard]] nlohmann::json to_json() const;

  struct Compiled;  ///< internal: see compiled_space.hpp

 private:
  friend class Lattice;
  explicit Space(std::shared_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}
  std::shared_ptr<const Compiled> compiled_;
};

/// Walks a space without listing it. Holds the space alive; not thread-safe.
class Enumerator {
 public:
  explicit Enumerator(std::shared_ptr<const Space::Compiled> compiled);
  ~Enumerator();
  Enumerator(Enumerator&&) noexcept;
  Enumerator& operator=(Enumerator&&) noexcept;
  /// The next one; empty: there are no more.
  [[nodiscard]] std::optional<Configuration> next();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace nocturne::space
