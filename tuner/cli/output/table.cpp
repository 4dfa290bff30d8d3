#include "tuner/cli/output/table.hpp"

#include <algorithm>
#include <ostream>
#include <stdexcept>

#include "tuner/cli/output/format.hpp"

namespace nocturne::cli {

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

void Table::add(std::vector<Cell> cells) {
  if (cells.size() != columns_.size()) {
    throw std::logic_error("a row of a table has as many cells as the table has columns");
  }
  for (Cell& cell : cells) {
    cell.text = one_line(cell.text);
  }
  rows_.push_back(std::move(cells));
}

void Table::print(std::ostream& out, bool colour, std::size_t width) const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    widths.push_back(display_width(columns_[i].header));
    for (const auto& row : rows_) {
      widths[i] = std::max(widths[i], display_width(row[i].text));
    }
  }
  const auto line = [&](const std::vector<Cell>& cells) {
    std::string text;
    std::size_t used = 0;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const bool last = i + 1 == cells.size();
      std::string shown = cells[i].text;
      if (last && width > used + 8) {
        shown = shortened(shown, width - used);
      }
      const std::size_t shown_width = display_width(shown);
      const std::size_t missing = widths[i] > shown_width ? widths[i] - shown_width : 0;
      const std::string padding(missing, ' ');
      const std::string painted = coloured(shown, cells[i].style, colour);
      if (columns_[i].align == Align::Right) {
        text += padding + painted;
      } else {
        text += last ? painted : painted + padding;  // no spaces at the end of a line
      }
      if (!last) {
        text += "  ";
      }
      used += widths[i] + 2;
    }
    text.erase(text.find_last_not_of(' ') + 1);  // empty cells at the end
    out << text << '\n';
  };
  std::vector<Cell> headers;
  for (const Column& column : columns_) {
    headers.emplace_back(column.header, Style::Faint);
  }
  line(headers);
  for (const auto& row : rows_) {
    line(row);
  }
}

}  // namespace nocturne::cli
