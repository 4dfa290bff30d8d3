#pragma once

/// A table constraint: of some parameters exactly the listed combinations are valid, whatever rule lies behind them.
///
/// For spaces known only by their rows: a recorded campaign, a published table without its constraints. The parameters
/// outside the table stay free, so that a space of rows can be widened by others.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace nocturne::space {

/// The number of a parameter's value (Parameter::value()) as a cell; kNoValue where the parameter is inactive.
using Cell = std::uint32_t;
inline constexpr Cell kNoValue = std::numeric_limits<Cell>::max();

/// What Space::create() takes: plain, unchecked.
struct RowTableSpec {
  std::vector<std::string> parameters;  ///< columns; none of them a real range
  std::vector<Cell> cells;              ///< row after row, a cell a column
  std::string because;                  ///< a sentence for who asks why a combination is invalid
  friend bool operator==(const RowTableSpec&, const RowTableSpec&) = default;
};

/// Distinct rows in lexicographic order, so that what begins alike is a range. Immutable; may be read by all threads.
class RowTable {
 public:
  /// First row and the one behind the last.
  using Range = std::pair<std::size_t, std::size_t>;

  RowTable() = default;
  /// Sorts; equal rows become one. REQUIRES: columns > 0, cells.size() is a multiple of it.
  RowTable(std::size_t columns, std::vector<Cell> cells);

  [[nodiscard]] std::size_t columns() const { return columns_; }
  [[nodiscard]] std::size_t rows() const { return columns_ == 0 ? 0 : cells_.size() / columns_; }
  [[nodiscard]] std::span<const Cell> row(std::size_t number) const {
    return std::span(cells_).subspan(number * columns_, columns_);
  }
  /// The rows of `range` whose cell of that column is `cell`. REQUIRES: the rows of the range are equal left of it.
  [[nodiscard]] Range narrow(Range range, std::size_t column, Cell cell) const;
  [[nodiscard]] bool contains(std::span<const Cell> row) const;

 private:
  std::size_t columns_ = 0;
  std::vector<Cell> cells_;
};

}  // namespace nocturne::space
