#include "tuner/cli/output/table.hpp"

#include <algorithm>
#include <ostream>
#include <stdexcept>
#include <string_view>

#include "tuner/cli/output/layout.hpp"

namespace nocturne::cli {
namespace {

constexpr std::string_view kGap = "  ";
constexpr std::size_t kSentence = 16;  // a narrower column of sentences is no easier to read
constexpr std::size_t kPiece = 8;      // of a word that has no room

/// Takes columns from the widest that is wider than its least, until all fit or none can give more.
void shrink(std::vector<std::size_t>& widths, std::size_t available, const std::vector<std::size_t>& least) {
  std::size_t sum = 0;
  for (const std::size_t each : widths) sum += each;
  for (; sum > available; --sum) {
    std::size_t widest = widths.size();
    for (std::size_t i = 0; i < widths.size(); ++i)
      if (widths[i] > least[i] && (widest == widths.size() || widths[i] > widths[widest])) widest = i;
    if (widest == widths.size()) return;
    --widths[widest];
  }
}

}  // namespace

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

void Table::add(std::vector<Cell> cells) {
  if (cells.size() != columns_.size())
    throw std::logic_error("a row of a table has as many cells as the table has columns");
  for (Cell& cell : cells) cell.text = one_line(cell.text);
  rows_.push_back(std::move(cells));
}

std::vector<std::size_t> Table::widths_within(std::size_t width) const {
  const std::size_t count = columns_.size();
  std::vector<std::size_t> widths(count), cells(count), words(count);
  for (std::size_t i = 0; i < count; ++i) {
    words[i] = longest_word(columns_[i].header);
    cells[i] = words[i];
    for (const auto& row : rows_) {
      cells[i] = std::max(cells[i], display_width(row[i].text));
      words[i] = std::max(words[i], longest_word(row[i].text));
    }
    widths[i] = std::max(cells[i], display_width(columns_[i].header));
  }
  if (width == 0) return widths;
  const auto least = [&](auto&& of) {
    std::vector<std::size_t> each;
    for (std::size_t i = 0; i < count; ++i) each.push_back(of(i));
    return each;
  };
  /// Cells that are short wrap anywhere between words, as a date and a time do.
  const auto sentence = [&](std::size_t i) { return cells[i] > kSentence ? std::max(words[i], kSentence) : words[i]; };
  const auto wraps = [&](std::size_t i) { return columns_[i].fit == Fit::Wraps; };
  const auto left = [&](std::size_t i) { return columns_[i].align == Align::Left; };
  const std::size_t available = width - std::min(width, kGap.size() * (count - 1));
  // From what costs a reader least to what costs most; each step goes as far as it must.
  shrink(widths, available, least([&](std::size_t i) { return wraps(i) ? sentence(i) : widths[i]; }));
  shrink(widths, available, least([&](std::size_t i) { return std::min(widths[i], cells[i]); }));  // headers wrap
  shrink(widths, available, least([&](std::size_t i) { return left(i) ? sentence(i) : widths[i]; }));
  shrink(widths, available, least([&](std::size_t i) { return words[i]; }));
  shrink(widths, available, least([&](std::size_t i) { return left(i) ? kPiece : widths[i]; }));  // words are broken
  return widths;
}

void Table::print_line(std::ostream& out, bool colour, const std::vector<Cell>& cells,
                       const std::vector<std::size_t>& widths) const {
  std::string text;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const bool last = i + 1 == cells.size();
    const std::size_t shown_width = display_width(cells[i].text);
    const std::string padding(widths[i] > shown_width ? widths[i] - shown_width : 0, ' ');
    const std::string painted = coloured(cells[i].text, cells[i].style, colour);
    if (columns_[i].align == Align::Right)
      text += padding + painted;
    else
      text += last ? painted : painted + padding;  // no spaces at the end of a line
    if (!last) text += kGap;
  }
  text.erase(text.find_last_not_of(' ') + 1);  // empty cells at the end
  out << text << '\n';
}

void Table::print(const Context& context) const {
  std::ostream& out = *context.out;
  const bool colour = context.colour_out();
  const std::vector<std::size_t> widths = widths_within(context.columns);
  const auto row = [&](const std::vector<Cell>& cells) {
    std::vector<std::vector<std::string>> lines(cells.size());
    std::size_t height = 1;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const bool fits = display_width(cells[i].text) <= widths[i];
      lines[i] = fits ? std::vector{cells[i].text} : wrapped(cells[i].text, widths[i]);
      height = std::max(height, lines[i].size());
    }
    for (std::size_t n = 0; n < height; ++n) {
      std::vector<Cell> shown;
      for (std::size_t i = 0; i < cells.size(); ++i)
        shown.emplace_back(n < lines[i].size() ? lines[i][n] : std::string(), cells[i].style);
      print_line(out, colour, shown, widths);
    }
  };
  std::vector<Cell> headers;
  for (const Column& column : columns_) headers.emplace_back(column.header, Style::Faint);
  row(headers);
  for (const auto& cells : rows_) row(cells);
}

}  // namespace nocturne::cli
