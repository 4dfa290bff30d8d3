#include "search/replay/recorded_space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "search/replay/text_file.hpp"

namespace nocturne::search::replay {
namespace {

constexpr std::uint32_t kEmpty = std::numeric_limits<std::uint32_t>::max();

// Published spaces have some dozens; what has more was made to be slow.
constexpr std::size_t kMaxExpressions = 4096;

constexpr std::uint64_t kHashStart = 0x243F6A8885A308D3U;

std::uint64_t mix(std::uint64_t hash, space::Cell cell) {
  hash = (hash ^ cell) * 0x9E3779B97F4A7C15U;
  return hash ^ (hash >> 29U);
}

std::string whole_text(const std::vector<space::SpaceError>& errors) {
  std::string text;
  for (const auto& error : errors) {
    text += (text.empty() ? "" : "; ") + error.path + ": " + error.message;
    const auto expression = std::string_view(error.excerpt).substr(0, error.excerpt.find('\n'));
    if (!expression.empty()) text += fmt::format(" in \"{}\"", excerpt(expression, 120));
  }
  return text;
}

}  // namespace

std::span<const float> Rows::times_of(std::size_t number) const {
  if (first_time.empty()) return {};
  return std::span(times).subspan(first_time[number], first_time[number + 1] - first_time[number]);
}

space::RowTableSpec table_of(const SpaceDescription& description, const Rows& rows) {
  space::RowTableSpec table{.parameters = {}, .cells = rows.cells, .because = "no such configuration was recorded"};
  for (std::size_t i = 0; i < rows.columns; ++i) table.parameters.push_back(description.parameters[i].name);
  return table;
}

std::expected<RecordedSpace, std::string> RecordedSpace::create(std::string name, std::string kind,
                                                                SpaceDescription description, Rows rows,
                                                                std::vector<std::string> notes) {
  RecordedSpace recorded;
  recorded.name_ = std::move(name);
  recorded.kind_ = std::move(kind);
  recorded.description_ = std::move(description);
  recorded.rows_ = std::move(rows);
  recorded.notes_ = std::move(notes);
  auto& objectives = recorded.rows_.objectives;
  if (objectives.empty()) return std::unexpected("it has no rows");
  if (objectives.size() >= kEmpty) return std::unexpected("it has too many rows");
  const auto expressions = recorded.description_.parameters.size() + recorded.description_.constraints.size();
  if (expressions > kMaxExpressions)
    return std::unexpected(fmt::format("{} parameters and constraints, more than {}", expressions, kMaxExpressions));
  for (std::size_t row = 0; row < objectives.size(); ++row) {
    if (std::isnan(objectives[row])) continue;
    if (!(objectives[row] > 0) || std::isinf(objectives[row])) {
      return std::unexpected(
          fmt::format("row {}: the objective is {}, it must be a positive, finite number", row + 1, objectives[row]));
    }
    recorded.ordered_.push_back(objectives[row]);
  }
  if (recorded.ordered_.empty()) return std::unexpected("no row is ok: there is nothing to search for");
  std::ranges::sort(recorded.ordered_);
  if (auto made = recorded.index_rows(); !made) return std::unexpected(made.error());
  try {
    if (auto made = recorded.make_space(); !made) return std::unexpected(made.error());
  } catch (const std::length_error& error) {  // counting gave up
    return std::unexpected(error.what());
  }
  return recorded;
}

std::expected<void, std::string> RecordedSpace::index_rows() {
  slots_.assign(std::bit_ceil(rows_.size() * 2 + 2), kEmpty);
  for (std::uint32_t number = 0; number < rows_.size(); ++number) {
    const auto cells = rows_.row(number);
    auto hash = kHashStart;
    for (const auto cell : cells) hash = mix(hash, cell);
    auto slot = hash & (slots_.size() - 1);
    for (; slots_[slot] != kEmpty; slot = (slot + 1) & (slots_.size() - 1)) {
      if (!std::ranges::equal(rows_.row(slots_[slot]), cells)) continue;
      return std::unexpected(fmt::format("row {} has the same configuration as row {}", number + 1, slots_[slot] + 1));
    }
    slots_[slot] = number;
  }
  return {};
}

std::expected<void, std::string> RecordedSpace::make_space() {
  if (auto chosen = choose_default(); !chosen) return chosen;
  if (!description_.rows) {
    auto made = space::Space::create(description_.parameters, description_.constraints, description_.facts);
    if (made) {
      space_ = std::move(*made);
      const auto checked = check_rows();
      if (checked) return {};
      notes_.push_back(checked.error());
    } else if (std::ranges::any_of(made.error(), [](const auto& each) { return each.position.has_value(); })) {
      return std::unexpected(whole_text(made.error()));  // an expression that cannot be understood
    } else {
      notes_.push_back("its constraints do not fit its rows: " + whole_text(made.error()));
    }
    notes_.back() += "; exactly the recorded rows are taken as valid";
    description_.rows = table_of(description_, rows_);
  }
  description_.constraints.clear();
  auto made = space::Space::create(description_.parameters, {}, description_.facts, &*description_.rows);
  if (!made) return std::unexpected(whole_text(made.error()));
  space_ = std::move(*made);
  return {};
}

/// The first row in the order of the values: a configuration that exists, chosen without a look at its worth.
std::expected<void, std::string> RecordedSpace::choose_default() {
  auto& parameters = description_.parameters;
  const auto values_alone = space::Space::create(parameters, {}, description_.facts);
  if (!values_alone) return std::unexpected(whole_text(values_alone.error()));
  std::size_t first = 0;
  for (std::size_t row = 1; row < rows_.size(); ++row)
    if (std::ranges::lexicographical_compare(rows_.row(row), rows_.row(first))) first = row;
  for (std::size_t i = 0; i < rows_.columns; ++i) {
    const auto cell = rows_.row(first)[i];
    if (cell != space::kNoValue) parameters[i].default_value = values_alone->parameters()[i].value(cell);
  }
  return {};
}

std::expected<void, std::string> RecordedSpace::check_rows() const {
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    if (space_->admits(rows_.row(row))) continue;
    const auto given = configuration(row);
    const auto reasons = space_->check(given);
    return std::unexpected(fmt::format("its constraints forbid row {}, {} ({})", row + 1, given.canonical(),
                                       reasons.empty() ? "" : reasons.front()));
  }
  const auto size = space_->count();
  if (size.kind != space::Size::Kind::Exact)
    return std::unexpected("its constraints are too complicated to be compared with the rows");
  // All rows are valid and distinct: as many valid configurations as rows are the rows.
  if (size.count == space::Count(rows_.size())) return {};
  // Among the first rows + 1 configurations one has no row.
  std::string example;
  for (std::uint64_t number = 0; number <= rows_.size() && example.empty(); ++number) {
    const auto each = space_->at(space::Count(number));
    if (each && !find(*each)) example = each->canonical();
  }
  return std::unexpected(fmt::format("its constraints allow {} configurations, and {} are recorded (without a row: {})",
                                     size.to_text(), rows_.size(), example));
}

std::optional<RecordedSpace::Place> RecordedSpace::find(const space::Configuration& configuration) const {
  const auto& parameters = space_->parameters();
  std::size_t used = 0;
  const auto cell_of = [&](std::size_t parameter) -> std::optional<space::Cell> {
    const auto* value = configuration.find(parameters[parameter].name);
    if (value == nullptr) return space::kNoValue;
    const auto index = parameters[parameter].index_of(*value);
    if (!index) return std::nullopt;
    return static_cast<space::Cell>(*index);
  };
  constexpr std::size_t kOnStack = 64;
  std::array<space::Cell, kOnStack> near{};
  std::vector<space::Cell> far(rows_.columns > kOnStack ? rows_.columns : 0);
  const auto cells = far.empty() ? std::span(near).first(rows_.columns) : std::span(far);
  auto hash = kHashStart;
  for (std::size_t i = 0; i < rows_.columns; ++i) {
    const auto cell = cell_of(i);
    if (!cell) return std::nullopt;
    if (*cell != space::kNoValue) ++used;
    cells[i] = *cell;
    hash = mix(hash, *cell);
  }
  Place place;
  for (std::size_t i = 0; i < dummies_; ++i) {
    const auto cell = cell_of(rows_.columns + i);
    if (!cell || *cell == space::kNoValue) return std::nullopt;
    ++used;
    place.dummies |= *cell << i;
  }
  if (used != configuration.values().size()) return std::nullopt;
  for (auto slot = hash & (slots_.size() - 1); slots_[slot] != kEmpty; slot = (slot + 1) & (slots_.size() - 1)) {
    if (!std::ranges::equal(rows_.row(slots_[slot]), cells)) continue;
    place.row = slots_[slot];
    return place;
  }
  return std::nullopt;
}

space::Configuration RecordedSpace::configuration(std::size_t row) const {
  space::Configuration configuration;
  for (std::size_t i = 0; i < rows_.columns; ++i) {
    const auto& parameter = space_->parameters()[i];
    const auto cell = rows_.row(row)[i];
    if (cell != space::kNoValue) configuration.set(parameter.name, parameter.value(cell));
  }
  return configuration;
}

space::Configuration RecordedSpace::configuration(Place place) const {
  auto configuration = this->configuration(std::size_t{place.row});
  for (std::size_t i = 0; i < dummies_; ++i) {
    const auto& parameter = space_->parameters()[rows_.columns + i];
    configuration.set(parameter.name, parameter.value((place.dummies >> i) & 1U));
  }
  return configuration;
}

std::expected<RecordedSpace, std::string> RecordedSpace::with_dummies(std::size_t count) const {
  if (count > kMaxDummies) return std::unexpected(fmt::format("at most {} parameters can be added", kMaxDummies));
  auto wider = *this;
  wider.dummies_ = count;
  wider.description_.parameters.resize(rows_.columns);
  for (std::size_t i = 0; i < count; ++i)
    wider.description_.parameters.push_back({.name = fmt::format("dummy_{}", i + 1), .domain = space::BooleanSpec{}});
  const auto& [parameters, constraints, facts, rows] = wider.description_;
  auto made = space::Space::create(parameters, constraints, facts, rows ? &*rows : nullptr);
  if (!made) return std::unexpected(whole_text(made.error()));
  wider.space_ = std::move(*made);
  return wider;
}

}  // namespace nocturne::search::replay
