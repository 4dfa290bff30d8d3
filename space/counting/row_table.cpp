#include "space/counting/row_table.hpp"

#include <algorithm>
#include <numeric>
#include <ranges>

namespace nocturne::space {

RowTable::RowTable(std::size_t columns, std::vector<Cell> cells) : columns_(columns) {
  const auto row_of = [&](std::size_t number) {
    return std::span<const Cell>(cells).subspan(number * columns, columns);
  };
  std::vector<std::size_t> order(cells.size() / columns);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto equal = [&](std::size_t a, std::size_t b) { return std::ranges::equal(row_of(a), row_of(b)); };
  std::ranges::sort(
      order, [&](std::size_t a, std::size_t b) { return std::ranges::lexicographical_compare(row_of(a), row_of(b)); });
  order.erase(std::ranges::unique(order, equal).begin(), order.end());
  cells_.reserve(order.size() * columns);
  for (const auto number : order) {
    const auto row = row_of(number);
    cells_.insert(cells_.end(), row.begin(), row.end());
  }
}

RowTable::Range RowTable::narrow(Range range, std::size_t column, Cell cell) const {
  const auto at = [&](std::size_t number) { return cells_[number * columns_ + column]; };
  const auto numbers = std::views::iota(range.first, range.second);
  const auto found = std::ranges::equal_range(numbers, cell, {}, at);
  const auto begin = range.first + static_cast<std::size_t>(found.begin() - numbers.begin());
  return {begin, begin + static_cast<std::size_t>(found.size())};
}

bool RowTable::contains(std::span<const Cell> row) const {
  Range range{0, rows()};
  for (std::size_t column = 0; column < columns_ && range.first < range.second; ++column)
    range = narrow(range, column, row[column]);
  return range.first < range.second;
}

}  // namespace nocturne::space
