#include "tuner/cli/output/table.hpp"

#include <algorithm>
#include <ostream>
#include <stdexcept>
#include <string_view>

#include "tuner/cli/output/format.hpp"

namespace nocturne::cli {
namespace {

constexpr std::string_view kGap = "  ";

}  // namespace

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

std::vector<std::size_t> Table::widths_within(std::size_t width) const {
  constexpr std::size_t kLeast = 16;  // a narrower column of sentences is no easier to read
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    widths.push_back(display_width(columns_[i].header));
    for (const auto& row : rows_) widths[i] = std::max(widths[i], display_width(row[i].text));
  }
  std::size_t sum = kGap.size() * (widths.size() - 1);
  for (const std::size_t each : widths) sum += each;
  while (width > 0 && sum > width) {
    std::size_t widest = widths.size();
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const bool shrinks = columns_[i].fit == Fit::Wraps && widths[i] > kLeast;
      if (shrinks && (widest == widths.size() || widths[i] > widths[widest])) widest = i;
    }
    if (widest == widths.size()) break;
    --widths[widest];
    --sum;
  }
  return widths;
}

void Table::print(std::ostream& out, bool colour, std::size_t width) const {
  const std::vector<std::size_t> widths = widths_within(width);
  const auto line = [&](const std::vector<Cell>& cells) {
    std::string text;
    std::size_t used = 0;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const bool last = i + 1 == cells.size();
      std::string shown = cells[i].text;
      if (last && columns_[i].fit == Fit::Whole && width > used + 8) {
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
        text += kGap;
      }
      used += widths[i] + kGap.size();
    }
    text.erase(text.find_last_not_of(' ') + 1);  // empty cells at the end
    out << text << '\n';
  };
  const auto row = [&](const std::vector<Cell>& cells) {
    std::vector<std::vector<std::string>> lines(cells.size());
    std::size_t height = 1;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const bool wraps = columns_[i].fit == Fit::Wraps;
      lines[i] = wraps ? wrapped(cells[i].text, widths[i]) : std::vector{cells[i].text};
      height = std::max(height, lines[i].size());
    }
    for (std::size_t n = 0; n < height; ++n) {
      std::vector<Cell> shown;
      for (std::size_t i = 0; i < cells.size(); ++i) {
        shown.emplace_back(n < lines[i].size() ? lines[i][n] : std::string(), cells[i].style);
      }
      line(shown);
    }
  };
  std::vector<Cell> headers;
  for (const Column& column : columns_) {
    headers.emplace_back(column.header, Style::Faint);
  }
  line(headers);
  for (const auto& cells : rows_) {
    row(cells);
  }
}

}  // namespace nocturne::cli
