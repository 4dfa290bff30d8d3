// Walking through a space: depth first, each constraint tested as soon as the last parameter it mentions is set.

#include <algorithm>
#include <utility>

#include "space/model.hpp"
#include "space/space.hpp"

namespace nocturne::space {

struct Enumerator::State {
  std::shared_ptr<const Space::Model> model;
  std::vector<std::size_t> order;                  // parameters, the first changes last
  std::vector<std::vector<std::size_t>> decided;   // by depth: constraints whose last parameter is set there
  std::vector<std::optional<std::size_t>> column;  // by depth: of the table
  std::vector<RowTable::Range> ranges;             // of the table, by column: rows that begin as the assignment does
  std::vector<std::uint64_t> next_value;           // by depth
  Assignment assignment;
  std::size_t depth = 0;
  bool ended = false;

  std::uint64_t values_of(std::size_t parameter) const {
    const auto& held = model->parameters[parameter];
    if (!held.is_real()) return held.size();
    return held.real_lower < held.real_upper ? Space::kRealGrid : 1;
  }

  Operand value_of(std::size_t parameter, std::uint64_t number) const {
    const auto& held = model->parameters[parameter];
    if (!held.is_real()) return model->operand(parameter, number);
    return Operand::of(held.real_from_unit(static_cast<double>(number) / static_cast<double>(Space::kRealGrid - 1)));
  }

  /// Takes the next value at this depth; false: there is none. An inactive parameter has one choice, its absence.
  bool step() {
    const auto parameter = order[depth];
    const bool active = model->is_active(parameter, assignment);
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
    ranges[here + 1] = model->rows->table.narrow(ranges[here], here, cell);
    return ranges[here + 1].first < ranges[here + 1].second;
  }

  bool holds() const {
    return std::ranges::all_of(decided[depth],
                               [&](std::size_t constraint) { return model->satisfies(constraint, assignment); });
  }
};

namespace {

void append_with_conditions(const Space::Model& model, std::size_t parameter, std::vector<bool>& done,
                            std::vector<std::size_t>& order) {
  if (done[parameter]) return;
  done[parameter] = true;
  if (const auto& activity = model.activity[parameter]) {
    for (const auto mentioned : activity->expression().mentions())
      append_with_conditions(model, mentioned, done, order);
  }
  order.push_back(parameter);
}

}  // namespace

std::vector<std::size_t> Space::Model::enumeration_order() const {
  std::vector<std::size_t> by_stage(parameters.size());
  for (std::size_t i = 0; i < by_stage.size(); ++i) by_stage[i] = i;
  std::ranges::sort(by_stage, {}, [&](std::size_t i) { return std::pair(parameters[i].stage, i); });
  std::vector<bool> done(by_stage.size(), false);
  std::vector<std::size_t> order;
  for (const auto parameter : by_stage) append_with_conditions(*this, parameter, done, order);
  return order;
}

Enumerator::Enumerator(std::shared_ptr<const Space::Model> model) : state_(std::make_unique<State>()) {
  auto& state = *state_;
  state.order = model->enumeration_order();
  const auto count = state.order.size();
  std::vector<std::size_t> depth_of(count);
  for (std::size_t depth = 0; depth < count; ++depth) depth_of[state.order[depth]] = depth;
  state.decided.resize(count);
  for (std::size_t c = 0; c < model->requirements.size(); ++c) {
    const auto& mentions = model->requirements[c].expression().mentions();
    if (mentions.empty()) continue;  // holds, or the default configuration would violate it
    std::size_t last = 0;
    for (const auto parameter : mentions) last = std::max(last, depth_of[parameter]);
    state.decided[last].push_back(c);
  }
  state.column.resize(count);
  if (model->rows) {
    const auto& [columns, table, because] = *model->rows;
    for (std::size_t c = 0; c < columns.size(); ++c) state.column[depth_of[columns[c]]] = c;
    state.ranges.resize(columns.size() + 1);
    state.ranges[0] = {0, table.rows()};
  }
  state.next_value.assign(count, 0);
  state.assignment.resize(count);
  state.model = std::move(model);
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
    if (state.depth + 1 == state.order.size()) return state.model->configuration_of(state.assignment);
    ++state.depth;
  }
  return std::nullopt;
}

}  // namespace nocturne::space
