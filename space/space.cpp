#include "space/space.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "space/compiled_space.hpp"
#include "space/counting/counting.hpp"
#include "space/digest.hpp"

namespace nocturne::space {
namespace {

/// A table is named by its columns and a digest: equal tables, equal text.
nlohmann::json rows_to_json(const Space::Compiled& compiled) {
  const auto& [columns, table, because] = *compiled.rows;
  auto names = nlohmann::json::array();
  for (const auto column : columns) names.push_back(compiled.parameters[column].name);
  Sha256 digest;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    std::string text;
    for (const auto cell : table.row(row)) text += std::to_string(cell) + ",";
    digest.update(text);
  }
  return {{"parameters", names}, {"count", table.rows()}, {"sha256", digest.finish()}, {"because", because}};
}

constexpr std::uint64_t kSpread = 64;  // values of a long integer range under Reach::All
constexpr int kRealSteps = 20;         // steps from end to end of a real range

/// Indices of other values within reach, ascending.
std::set<std::uint64_t> reachable(const Parameter& parameter, std::uint64_t present, Reach reach) {
  const auto count = parameter.size();
  std::set<std::uint64_t> result;
  if (reach == Reach::All || !parameter.is_ordered()) {
    if (parameter.kind != Kind::Integer || count <= kSpread) {
      for (std::uint64_t i = 0; i < count; ++i) result.insert(i);
    } else {
      // Halves and rests apart: (count - 1) * i would overflow.
      for (std::uint64_t i = 0; i < kSpread; ++i)
        result.insert((count - 1) / (kSpread - 1) * i + (count - 1) % (kSpread - 1) * i / (kSpread - 1));
    }
  }
  if (present > 0) result.insert(present - 1);
  if (present + 1 < count) result.insert(present + 1);
  result.erase(present);
  return result;
}

std::set<double> reachable_numbers(const Parameter& parameter, double present, Reach reach) {
  std::set<double> result;
  const double unit = parameter.to_unit(present);
  for (int i = 0; i <= kRealSteps && reach == Reach::All; ++i)
    result.insert(parameter.real_from_unit(static_cast<double>(i) / kRealSteps));
  if (reach == Reach::Adjacent) {
    result.insert(parameter.real_from_unit(unit - 1.0 / kRealSteps));
    result.insert(parameter.real_from_unit(unit + 1.0 / kRealSteps));
  }
  result.erase(present);
  return result;
}

std::vector<Operand> alternatives(const Space::Compiled& compiled, std::size_t index, Operand present, Reach reach) {
  const auto& parameter = compiled.parameters[index];
  std::vector<Operand> result;
  if (parameter.is_real())
    for (const auto number : reachable_numbers(parameter, present.real(), reach)) result.push_back(Operand::of(number));
  else
    for (const auto i : reachable(parameter, *parameter.index_of(present.value()), reach))
      result.push_back(compiled.operand(index, i));
  return result;
}

}  // namespace

const std::vector<Parameter>& Space::parameters() const {
  return compiled_->parameters;
}

const Parameter* Space::find(std::string_view name) const {
  const auto found = compiled_->by_name.find(name);
  return found == compiled_->by_name.end() ? nullptr : &compiled_->parameters[found->second];
}

const std::vector<ConstraintSpec>& Space::constraints() const {
  return compiled_->constraints;
}

const Configuration& Space::default_configuration() const {
  return compiled_->default_configuration;
}

std::vector<std::string> Space::check(const Configuration& configuration) const {
  std::vector<std::string> reasons;
  const auto assignment = compiled_->assignment_of(configuration, reasons);
  // A combination is looked up only where it is whole: what is missing has been said.
  if (reasons.empty() && !compiled_->satisfies_rows(assignment)) reasons.push_back(compiled_->rows->because);
  auto violations = compiled_->violations(assignment);
  reasons.insert(reasons.end(), std::make_move_iterator(violations.begin()), std::make_move_iterator(violations.end()));
  return reasons;
}

bool Space::contains(const Configuration& configuration) const {
  return check(configuration).empty();
}

bool Space::admits(std::span<const Cell> cells) const {
  Assignment assignment(compiled_->parameters.size());
  for (const auto index : compiled_->activation_order) {
    if (compiled_->is_active(index, assignment) != (cells[index] != kNoValue)) return false;
    if (cells[index] == kNoValue) continue;
    if (cells[index] >= compiled_->parameters[index].size()) return false;
    assignment[index] = compiled_->operand(index, cells[index]);
  }
  return compiled_->satisfies_all(assignment);
}

Configuration Space::normalise(const Configuration& configuration) const {
  Configuration result;
  Assignment assignment(compiled_->parameters.size());
  for (const auto index : compiled_->activation_order) {
    const auto& parameter = compiled_->parameters[index];
    if (!compiled_->is_active(index, assignment)) continue;
    const auto* given = configuration.find(parameter.name);
    auto value = given == nullptr ? parameter.default_value : *given;
    if (parameter.is_real()) {
      const auto number = Operand::of(value);
      if (number.is_number() && number.type() != Operand::Type::Bool && number.number() >= parameter.real_lower &&
          number.number() <= parameter.real_upper) {
        value = parameter.round(number.number());
      }
    }
    if (parameter.contains(value))
      assignment[index] =
          parameter.is_real() ? Operand::of(value) : compiled_->operand(index, *parameter.index_of(value));
    result.set(parameter.name, std::move(value));
  }
  return result;
}

Size Space::cardinality() const {
  Size size{.count = Count(1), .approximate = 1};
  for (const auto& parameter : compiled_->parameters) {
    if (parameter.is_real()) {
      if (parameter.real_lower < parameter.real_upper) size.kind = Size::Kind::Infinite;
      continue;
    }
    size.count = size.count * Count(parameter.size());
    size.approximate *= static_cast<double>(parameter.size());
  }
  return size;
}

Size Space::count() const {
  return compiled_->counting().count();
}

Effort Space::effort() const {
  return compiled_->counting().effort();
}

std::optional<Configuration> Space::sample(Random& random) const {
  const auto assignment = compiled_->counting().sample(random);
  if (!assignment) return std::nullopt;
  return compiled_->configuration_of(*assignment);
}

std::optional<Configuration> Space::at(Count number) const {
  const auto size = count();
  if (size.kind != Size::Kind::Exact || size.count.is_saturated() || number >= size.count) return std::nullopt;
  return compiled_->configuration_of(compiled_->counting().at(number));
}

Enumerator Space::enumerate() const {
  return Enumerator(compiled_);
}

bool Space::for_each(const std::function<bool(const Configuration&)>& visit) const {
  auto all = enumerate();
  while (const auto configuration = all.next())
    if (!visit(*configuration)) return false;
  return true;
}

nlohmann::json Space::to_json() const {
  nlohmann::json document = {{"parameters", nlohmann::json::array()}, {"constraints", nlohmann::json::array()}};
  for (const auto& parameter : compiled_->parameters) document["parameters"].push_back(parameter.to_json());
  for (const auto& constraint : compiled_->constraints)
    document["constraints"].push_back({{"require", constraint.require}, {"because", constraint.because}});
  if (compiled_->rows) document["rows"] = rows_to_json(*compiled_);
  return document;
}

// Space::neighbours(): configurations one parameter away.

std::vector<Configuration> Space::neighbours(const Configuration& configuration, Reach reach) const {
  std::vector<std::string> reasons;
  const auto centre = compiled_->assignment_of(configuration, reasons);
  std::vector<Configuration> result;
  if (!reasons.empty()) return result;
  for (std::size_t i = 0; i < centre.size(); ++i) {
    if (centre[i].is_nothing()) continue;
    for (const auto value : alternatives(*compiled_, i, centre[i], reach)) {
      auto moved = centre;
      moved[i] = value;
      compiled_->settle_activity(moved);
      if (compiled_->satisfies_all(moved)) result.push_back(compiled_->configuration_of(moved));
    }
  }
  return result;
}

// Walking through a space: depth first, each constraint tested as soon as the last parameter it mentions is set.

struct Enumerator::State {
  std::shared_ptr<const Space::Compiled> compiled;
  std::vector<std::size_t> order;                  // parameters, the first changes last
  std::vector<std::vector<std::size_t>> decided;   // by depth: constraints whose last parameter is set there
  std::vector<std::optional<std::size_t>> column;  // by depth: of the table
  std::vector<RowTable::Range> ranges;             // of the table, by column: rows that begin as the assignment does
  std::vector<std::uint64_t> next_value;           // by depth
  Assignment assignment;
  std::size_t depth = 0;
  bool ended = false;

  std::uint64_t values_of(std::size_t parameter) const {
    const auto& held = compiled->parameters[parameter];
    if (!held.is_real()) return held.size();
    return held.real_lower < held.real_upper ? Space::kRealGrid : 1;
  }

  Operand value_of(std::size_t parameter, std::uint64_t number) const {
    const auto& held = compiled->parameters[parameter];
    if (!held.is_real()) return compiled->operand(parameter, number);
    return Operand::of(held.real_from_unit(static_cast<double>(number) / static_cast<double>(Space::kRealGrid - 1)));
  }

  /// Takes the next value at this depth; false: there is none. An inactive parameter has one choice, its absence.
  bool step() {
    const auto parameter = order[depth];
    const bool active = compiled->is_active(parameter, assignment);
    const auto number = next_value[depth]++;
    if (number >= (active ? values_of(parameter) : 1)) return false;
    assignment[parameter] = active ? value_of(parameter, number) : Operand();
    return true;
  }

  /// Whether some row begins with what is set.
  bool has_rows() {
    if (!column[depth]) return true;
    const auto here = *column[depth];
    const auto cell = assignment[order[depth]].is_nothing() ? kNoValue : static_cast<Cell>(next_value[depth] - 1);
    ranges[here + 1] = compiled->rows->table.narrow(ranges[here], here, cell);
    return ranges[here + 1].first < ranges[here + 1].second;
  }

  bool holds() const {
    return std::ranges::all_of(decided[depth],
                               [&](std::size_t constraint) { return compiled->satisfies(constraint, assignment); });
  }
};

namespace {

void append_with_conditions(const Space::Compiled& compiled, std::size_t parameter, std::vector<bool>& done,
                            std::vector<std::size_t>& order) {
  if (done[parameter]) return;
  done[parameter] = true;
  if (const auto& activity = compiled.activity[parameter])
    for (const auto mentioned : activity->expression().mentions())
      append_with_conditions(compiled, mentioned, done, order);
  order.push_back(parameter);
}

}  // namespace

std::vector<std::size_t> Space::Compiled::enumeration_order() const {
  std::vector<std::size_t> by_stage(parameters.size());
  for (std::size_t i = 0; i < by_stage.size(); ++i) by_stage[i] = i;
  std::ranges::sort(by_stage, {}, [&](std::size_t i) { return std::pair(parameters[i].stage, i); });
  std::vector<bool> done(by_stage.size(), false);
  std::vector<std::size_t> order;
  for (const auto parameter : by_stage) append_with_conditions(*this, parameter, done, order);
  return order;
}

Enumerator::Enumerator(std::shared_ptr<const Space::Compiled> compiled) : state_(std::make_unique<State>()) {
  auto& state = *state_;
  state.order = compiled->enumeration_order();
  const auto count = state.order.size();
  std::vector<std::size_t> depth_of(count);
  for (std::size_t depth = 0; depth < count; ++depth) depth_of[state.order[depth]] = depth;
  state.decided.resize(count);
  for (std::size_t c = 0; c < compiled->requirements.size(); ++c) {
    const auto& mentions = compiled->requirements[c].expression().mentions();
    if (mentions.empty()) continue;  // holds, or the default configuration would violate it
    std::size_t last = 0;
    for (const auto parameter : mentions) last = std::max(last, depth_of[parameter]);
    state.decided[last].push_back(c);
  }
  state.column.resize(count);
  if (compiled->rows) {
    const auto& [columns, table, because] = *compiled->rows;
    for (std::size_t c = 0; c < columns.size(); ++c) state.column[depth_of[columns[c]]] = c;
    state.ranges.resize(columns.size() + 1);
    state.ranges[0] = {0, table.rows()};
  }
  state.next_value.assign(count, 0);
  state.assignment.resize(count);
  state.compiled = std::move(compiled);
}

Enumerator::~Enumerator() = default;
Enumerator::Enumerator(Enumerator&&) noexcept = default;
Enumerator& Enumerator::operator=(Enumerator&&) noexcept = default;

std::optional<Configuration> Enumerator::next() {
  auto& state = *state_;
  while (!state.ended) {
    if (!state.step()) {
      state.next_value[state.depth] = 0;
      state.ended = state.depth == 0;
      if (!state.ended) --state.depth;
      continue;
    }
    if (!state.has_rows() || !state.holds()) continue;
    if (state.depth + 1 == state.order.size()) return state.compiled->configuration_of(state.assignment);
    ++state.depth;
  }
  return std::nullopt;
}

}  // namespace nocturne::space
