#include "search/replay/cell_reader.hpp"

#include <cmath>
#include <variant>

#include "space/parse_number.hpp"

namespace nocturne::search::replay {
namespace {

std::optional<double> number_of(const space::Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? 1 : 0;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return std::nullopt;
}

}  // namespace

std::optional<double> number_in(std::string_view text) {
  const auto number = space::parse_number<double>(text);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

std::vector<space::Value> listed_values(const space::DomainSpec& domain) {
  if (std::holds_alternative<space::BooleanSpec>(domain)) return {false, true};
  if (const auto* list = std::get_if<space::OrdinalSpec>(&domain)) return list->values;
  if (const auto* list = std::get_if<space::CategoricalSpec>(&domain)) return list->values;
  std::vector<space::Value> values;
  if (const auto* range = std::get_if<space::IntegerRangeSpec>(&domain)) {
    const auto lower = std::get<std::int64_t>(range->lower);
    const auto upper = std::get<std::int64_t>(range->upper);
    const auto step = std::get<std::int64_t>(range->step);
    if (lower > upper || step <= 0) return values;
    // Counted: what comes behind the last value may not fit 64 bits.
    const auto count =
        (static_cast<std::uint64_t>(upper) - static_cast<std::uint64_t>(lower)) / static_cast<std::uint64_t>(step);
    for (std::uint64_t i = 0; i <= count; ++i)
      values.emplace_back(
          static_cast<std::int64_t>(static_cast<std::uint64_t>(lower) + i * static_cast<std::uint64_t>(step)));
  }
  return values;
}

CellReader::CellReader(const space::ParameterSpec& parameter) {
  const auto values = listed_values(parameter.domain);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto cell = static_cast<space::Cell>(i);
    texts_.emplace(space::to_text(values[i]), cell);
    if (const auto number = number_of(values[i])) numbers_.emplace(*number, cell);
  }
}

std::optional<space::Cell> CellReader::find_text(std::string_view text) {
  if (const auto known = texts_.find(text); known != texts_.end()) return known->second;
  const auto number = number_in(text);
  const auto found = number ? numbers_.find(*number) : numbers_.end();
  if (found == numbers_.end()) return std::nullopt;
  texts_.emplace(text, found->second);
  return found->second;
}

std::optional<space::Cell> CellReader::find_value(const space::Value& value) {
  const auto number = number_of(value);
  if (!number) return find_text(std::get<std::string>(value));
  const auto found = numbers_.find(*number);
  if (found != numbers_.end()) return found->second;
  return find_text(space::to_text(value));
}

}  // namespace nocturne::search::replay
