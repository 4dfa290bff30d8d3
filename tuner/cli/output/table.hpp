#pragma once

/// Columns of text for a terminal or a pipe: padded with spaces, no frame, so that `cut` and `awk` still work.

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

#include "tuner/cli/context.hpp"
#include "tuner/cli/output/format.hpp"

namespace nocturne::cli {

enum class Align { Left, Right };

enum class Fit {
  Whole,  ///< as wide as its widest cell, as long as columns that wrap can give way
  Wraps,  ///< its cells are the first to become several lines where the table would be too wide
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
  /// On context.out. Where a line would be wider than the page, cells become several lines: first those of columns that
  /// wrap, then headers, then any.
  void print(const Context& context) const;

 private:
  [[nodiscard]] std::vector<std::size_t> widths_within(std::size_t width) const;
  void print_line(std::ostream& out, bool colour, const std::vector<Cell>& cells,
                  const std::vector<std::size_t>& widths) const;
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace nocturne::cli
