#include "space/counting/row_table_resolver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "space/nearest.hpp"

namespace nocturne::space {
namespace {

class RowTableResolver {
 public:
  RowTableResolver(const RowTableSpec& spec, const Space::Compiled& compiled, std::vector<SpaceError>& errors)
      : spec_(spec), compiled_(compiled), errors_(errors), errors_before_(errors.size()) {}

  std::optional<TableConstraint> run() {
    find_columns();
    if (failed()) return std::nullopt;
    for (std::size_t i = 0; i < compiled_.parameters.size(); ++i) check_activity(i);
    check_constraints();
    if (!failed()) check_rows();
    if (failed()) return std::nullopt;
    return arrange();
  }

 private:
  void fail(std::string path, std::string message) {
    errors_.push_back({std::move(path), std::nullopt, std::move(message), ""});
  }
  static std::string path_of(std::size_t row) { return fmt::format("/rows/{}", row); }
  bool failed() const { return errors_.size() > errors_before_; }

  void find_columns() {
    column_of_.assign(compiled_.parameters.size(), std::nullopt);
    if (spec_.because.empty()) fail("/rows/because", "a table of rows needs a sentence that explains it");
    if (spec_.parameters.empty()) return fail("/rows/parameters", "a table of rows needs at least one parameter");
    for (std::size_t c = 0; c < spec_.parameters.size(); ++c) {
      const auto path = fmt::format("/rows/parameters/{}", c);
      const auto found = compiled_.by_name.find(spec_.parameters[c]);
      if (found == compiled_.by_name.end()) {
        std::vector<std::string> names;
        for (const auto& each : compiled_.parameters) names.push_back(each.name);
        fail(path,
             fmt::format("unknown parameter '{}'{}", spec_.parameters[c], did_you_mean(spec_.parameters[c], names)));
      } else if (compiled_.parameters[found->second].is_real()) {
        fail(path, fmt::format("'{}' is a real range; rows list single values", spec_.parameters[c]));
      } else if (std::exchange(column_of_[found->second], c)) {
        fail(path, fmt::format("'{}' stands in the table twice", spec_.parameters[c]));
      }
    }
    if (spec_.cells.empty()) fail("/rows", "the table has no rows");
    if (spec_.cells.size() % spec_.parameters.size() != 0)
      fail("/rows", fmt::format("{} cells are no whole rows of {}", spec_.cells.size(), spec_.parameters.size()));
  }

  void check_activity(std::size_t parameter) {
    if (!compiled_.activity[parameter]) return;
    for (const auto mentioned : compiled_.activity[parameter]->expression().mentions()) {
      if (column_of_[mentioned].has_value() == column_of_[parameter].has_value()) continue;
      fail(fmt::format("/parameters/{}/active_if", parameter),
           fmt::format("it mentions '{}': one of the two is a column of the table of rows, and the other is not",
                       compiled_.parameters[mentioned].name));
    }
  }

  void check_constraints() {
    for (std::size_t i = 0; i < compiled_.requirements.size(); ++i) {
      for (const auto mentioned : compiled_.requirements[i].expression().mentions()) {
        if (!column_of_[mentioned]) continue;
        fail(fmt::format("/constraints/{}/require", i),
             fmt::format("it mentions '{}', a column of the table of rows; the rows alone say what is valid there",
                         compiled_.parameters[mentioned].name));
      }
    }
  }

  /// The first row that is wrong is reported, not all of perhaps a million.
  void check_rows() {
    const auto columns = spec_.parameters.size();
    Assignment assignment(compiled_.parameters.size());
    for (std::size_t row = 0; row * columns < spec_.cells.size() && !failed(); ++row)
      check_row(row, std::span(spec_.cells).subspan(row * columns, columns), assignment);
  }

  void check_row(std::size_t row, std::span<const Cell> cells, Assignment& assignment) {
    for (const auto parameter : compiled_.activation_order) {
      if (!column_of_[parameter]) continue;
      const auto& held = compiled_.parameters[parameter];
      const auto cell = cells[*column_of_[parameter]];
      assignment[parameter] = Operand();
      if (compiled_.is_active(parameter, assignment) != (cell != kNoValue)) {
        return fail(path_of(row), cell == kNoValue ? fmt::format("'{}' has no value, and it is active", held.name)
                                                   : fmt::format("'{}' has a value, and it is active only if {}",
                                                                 held.name, held.active_if));
      }
      if (cell == kNoValue) continue;
      if (cell >= held.size())
        return fail(path_of(row), fmt::format("'{}' has {} values, none with number {}", held.name, held.size(), cell));
      assignment[parameter] = compiled_.operand(parameter, cell);
    }
  }

  TableConstraint arrange() const {
    TableConstraint result{.columns = {}, .table = {}, .because = spec_.because};
    std::vector<std::size_t> source;  // of each column, its place in the description
    for (const auto parameter : compiled_.enumeration_order()) {
      if (!column_of_[parameter]) continue;
      result.columns.push_back(parameter);
      source.push_back(*column_of_[parameter]);
    }
    std::vector<Cell> cells(spec_.cells.size());
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const auto column = i % source.size();
      cells[i] = spec_.cells[i - column + source[column]];
    }
    result.table = RowTable(source.size(), std::move(cells));
    return result;
  }

  const RowTableSpec& spec_;
  const Space::Compiled& compiled_;
  std::vector<SpaceError>& errors_;
  std::size_t errors_before_;
  std::vector<std::optional<std::size_t>> column_of_;  // by parameter: its place in the description
};

}  // namespace

std::optional<TableConstraint> resolve_rows(const RowTableSpec& spec, const Space::Compiled& compiled,
                                            std::vector<SpaceError>& errors) {
  return RowTableResolver(spec, compiled, errors).run();
}

}  // namespace nocturne::space
