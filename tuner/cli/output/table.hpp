#pragma once

/// Columns of text for a terminal or a pipe: padded with spaces, no frame, so that `cut` and `awk` still work.

#include <cstddef>
#include <initializer_list>
#include <iosfwd>
#include <string>
#include <vector>

#include "tuner/cli/output/colour.hpp"

namespace nocturne::cli {

enum class Align { Left, Right };

enum class Fit {
  Whole,  ///< as wide as its widest cell
  Wraps,  ///< its cells become several lines where the table would be wider than the terminal
};

struct Column {
  std::string header;
  Align align = Align::Left;
  Fit fit = Fit::Whole;
};

struct Cell {
  Cell(std::string content, Style look = Style::Plain) : text(std::move(content)), style(look) {}  // NOLINT: from text
  Cell(const char* content) : text(content) {}                                                     // NOLINT: from text
  std::string text;
  Style style = Style::Plain;
};

/// Not thread-safe. Control characters in cells are made visible, newlines become spaces.
class Table {
 public:
  explicit Table(std::vector<Column> columns);
  /// REQUIRES: as many cells as columns.
  void add(std::vector<Cell> cells);
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  /// Where a line would be wider than `width` (0: any is fine), columns that wrap share what the others leave; a last
  /// column that does not wrap is cut.
  void print(std::ostream& out, bool colour, std::size_t width = 0) const;

 private:
  [[nodiscard]] std::vector<std::size_t> widths_within(std::size_t width) const;
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace nocturne::cli
