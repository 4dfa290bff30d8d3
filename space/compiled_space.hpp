#pragma once

/// What a Space holds: resolved parameters, compiled conditions, and the counting, made when first needed. Internal.

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "space/counting/row_table.hpp"
#include "space/expression/expression.hpp"
#include "space/expression/operand.hpp"
#include "space/expression/program.hpp"
#include "space/space.hpp"

namespace nocturne::space {

class Counting;

/// One operand a parameter, in the order of the space; Nothing where it is inactive. Texts point into the compiled.
using Assignment = std::vector<Operand>;

/// An expression ready for many evaluations.
class CompiledCondition {
 public:
  explicit CompiledCondition(Expression expression);
  [[nodiscard]] const Expression& expression() const { return expression_; }
  /// Nothing: it mentions an inactive parameter. Else its value, perhaps a failure.
  [[nodiscard]] Operand evaluate(const Assignment& assignment) const;

 private:
  Expression expression_;
  Program program_;
};

/// A table constraint: its columns are parameters, in the order in which an Enumerator sets them.
struct TableConstraint {
  std::vector<std::size_t> columns;
  RowTable table;
  std::string because;
};

struct Space::Compiled {
  std::vector<Parameter> parameters;
  std::map<std::string, std::size_t, std::less<>> by_name;
  std::vector<ConstraintSpec> constraints;
  std::vector<std::optional<CompiledCondition>> activity;  // by parameter; empty: always active
  std::vector<CompiledCondition> requirements;             // by constraint
  std::vector<std::size_t> activation_order;               // parameters, each after what its active_if mentions
  std::optional<TableConstraint> rows;
  Configuration default_configuration;

  Compiled();
  ~Compiled();
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;

  /// REQUIRES: what its active_if mentions is assigned.
  [[nodiscard]] bool is_active(std::size_t parameter, const Assignment& assignment) const;
  [[nodiscard]] bool satisfies(std::size_t constraint, const Assignment& assignment) const;
  [[nodiscard]] bool satisfies_all(const Assignment& assignment) const;
  /// Whether the table, if there is one, has this combination.
  [[nodiscard]] bool satisfies_rows(const Assignment& assignment) const;
  /// The sentences of what is violated.
  [[nodiscard]] std::vector<std::string> violations(const Assignment& assignment) const;

  [[nodiscard]] Operand operand(std::size_t parameter, std::uint64_t index) const;
  /// The other way: kNoValue for Nothing. REQUIRES: an operand() of that parameter, which is not Real.
  [[nodiscard]] Cell cell(std::size_t parameter, Operand operand) const;
  [[nodiscard]] Operand default_operand(std::size_t parameter) const;
  /// Sets inactive parameters to Nothing and newly active ones to their defaults.
  void settle_activity(Assignment& assignment) const;
  /// What is unknown, missing, inactive or outside its domain goes to `reasons` and stays Nothing.
  [[nodiscard]] Assignment assignment_of(const Configuration& configuration, std::vector<std::string>& reasons) const;
  [[nodiscard]] Configuration configuration_of(const Assignment& assignment) const;
  /// By stage, then as declared, but each parameter after those that its active_if mentions: the first changes last.
  [[nodiscard]] std::vector<std::size_t> enumeration_order() const;

  [[nodiscard]] const Counting& counting() const;

 private:
  mutable std::once_flag counted_;
  mutable std::unique_ptr<const Counting> counting_;
};

}  // namespace nocturne::space
