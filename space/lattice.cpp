#include "space/lattice.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "space/counting/counting.hpp"

namespace nocturne::space {
namespace {

constexpr std::size_t kDraws = 2048;      // to see which values of a long axis occur: each of 64 some 30 times
constexpr std::uint64_t kShortList = 16;  // is searched from its beginning

bool is_spread(const Parameter& parameter) {
  return !parameter.is_real() && parameter.is_ordered() && parameter.size() > Lattice::kSpread;
}

bool is_numeric(const Value& value) {
  return !std::holds_alternative<std::string>(value);
}

/// Numbers of `wanted` values of those that occur, evenly spread from the first to the last.
std::set<std::uint64_t> spread(const std::set<std::uint64_t>& occurring, std::size_t wanted) {
  if (occurring.size() <= wanted) return occurring;
  const auto first = static_cast<double>(*occurring.begin());
  const auto last = static_cast<double>(*occurring.rbegin());
  std::set<std::uint64_t> result;
  for (std::size_t i = 0; i < wanted; ++i) {
    const double position = first + (last - first) * static_cast<double>(i) / static_cast<double>(wanted - 1);
    auto above = occurring.lower_bound(static_cast<std::uint64_t>(position));
    if (above == occurring.end()) --above;
    result.insert(*above);
  }
  return result;
}

}  // namespace

void PointList::set(std::size_t i, Point point) {
  std::ranges::copy(point, levels_.begin() + static_cast<std::ptrdiff_t>(i * width_));
}

std::uint64_t hash_of(Point point) {
  std::uint64_t value = 0x9E3779B97F4A7C15U;
  for (const auto level : point) {
    value = (value ^ level) * 0xFF51AFD7ED558CCDU;
    value ^= value >> 32U;
  }
  return value;
}

Lattice::Lattice(const Space& space)
    : compiled_(space.compiled_), assignment_(compiled_->parameters.size()), moved_(compiled_->parameters.size()) {
  std::vector<Assignment> drawn;
  if (std::ranges::any_of(compiled_->parameters, is_spread)) {
    Random random(0);  // the same levels in every campaign over this space
    while (drawn.size() < kDraws) {
      auto assignment = compiled_->counting().sample(random);
      if (!assignment) break;
      drawn.push_back(std::move(*assignment));
    }
  }
  const auto count = compiled_->parameters.size();
  axes_.resize(count);
  operands_.resize(count);
  positions_.resize(count);
  numbers_.resize(count);
  for (std::size_t i = 0; i < count; ++i) make_axis(i, drawn);
}

void Lattice::make_axis(std::size_t parameter, const std::vector<Assignment>& drawn) {
  const auto& held = compiled_->parameters[parameter];
  auto& axis = axes_[parameter];
  auto& positions = positions_[parameter];
  axis.ordered = held.is_ordered();
  axis.conditional = held.is_conditional();
  if (held.is_real()) {
    axis.complete = held.real_lower == held.real_upper;
    std::set<double> values = {std::get<double>(held.default_value)};
    for (std::size_t i = 0; i < kRealSpread; ++i)
      values.insert(held.real_from_unit(static_cast<double>(i) / static_cast<double>(kRealSpread - 1)));
    for (const double each : values) axis.values.emplace_back(each);
    positions.assign(values.begin(), values.end());
  } else {
    const auto standard = *held.index_of(held.default_value);
    std::set<std::uint64_t> indices;
    if (held.kind != Kind::Integer && held.size() > kShortList)
      for (std::uint64_t i = 0; i < held.size(); ++i)
        numbers_[parameter].emplace(Operand::of(held.values[i]).hash(), i);
    if (is_spread(held)) {
      for (const auto& each : drawn)
        if (!each[parameter].is_nothing()) indices.insert(index_of(parameter, each[parameter]));
      indices = spread(indices, kSpread);
      indices.insert(standard);
    } else {
      for (std::uint64_t i = 0; i < std::min<std::uint64_t>(held.size(), kNoLevel); ++i) indices.insert(i);
      // The default takes the place of the last one: one level more would be kNoLevel.
      if (indices.size() == kNoLevel && !indices.contains(standard)) indices.erase(std::prev(indices.end()));
      indices.insert(standard);
    }
    axis.complete = indices.size() == held.size();
    for (const auto i : indices) {
      axis.values.push_back(held.value(i));
      positions.push_back(static_cast<double>(i));
    }
  }
  axis.levels = axis.values.size();
  complete_ = complete_ && axis.complete;
  for (std::size_t level = 0; level < axis.levels; ++level) {
    if (held.is_real() || held.kind == Kind::Integer)
      operands_[parameter].push_back(Operand::of(axis.values[level]));
    else  // texts must be those of the compiled space, which outlive this vector
      operands_[parameter].push_back(compiled_->operand(parameter, static_cast<std::uint64_t>(positions[level])));
    if (axis.values[level] == held.default_value) axis.default_level = static_cast<Level>(level);
  }
  if (std::ranges::all_of(axis.values, is_numeric))
    for (const auto& operand : operands_[parameter]) axis.numbers.push_back(operand.number());
}

std::uint64_t Lattice::index_of(std::size_t parameter, const Operand& operand) const {
  const auto& held = compiled_->parameters[parameter];
  if (held.kind == Kind::Integer) {
    const auto above = static_cast<std::uint64_t>(operand.integer()) - static_cast<std::uint64_t>(held.lower);
    return above / static_cast<std::uint64_t>(held.step);
  }
  if (const auto& known = numbers_[parameter]; !known.empty()) return known.at(operand.hash());
  const auto found = std::ranges::find(operands_[parameter], operand);
  return static_cast<std::uint64_t>(found - operands_[parameter].begin());
}

Level Lattice::nearest(std::size_t parameter, double position) const {
  const auto& positions = positions_[parameter];
  const auto above = std::ranges::lower_bound(positions, position);
  if (above == positions.begin()) return 0;
  const auto level = static_cast<Level>(above - positions.begin());
  if (above == positions.end()) return static_cast<Level>(level - 1);
  return *above - position < position - *(above - 1) ? level : static_cast<Level>(level - 1);
}

Level Lattice::level_of(std::size_t parameter, const Operand& operand) const {
  if (operand.is_nothing()) return kNoLevel;
  if (compiled_->parameters[parameter].is_real()) return nearest(parameter, operand.real());
  const auto index = index_of(parameter, operand);
  return axes_[parameter].complete ? static_cast<Level>(index) : nearest(parameter, static_cast<double>(index));
}

void Lattice::assign(Point point) {
  for (std::size_t i = 0; i < point.size(); ++i)
    assignment_[i] = point[i] == kNoLevel ? Operand() : operands_[i][point[i]];
}

bool Lattice::sample(Random& random, std::span<Level> point) {
  // Rounding may leave the constraints: then it is drawn again.
  for (std::size_t tries = 0; tries < 1000; ++tries) {
    const auto drawn = compiled_->counting().sample(random);
    if (!drawn) return false;
    for (std::size_t i = 0; i < point.size(); ++i) point[i] = level_of(i, (*drawn)[i]);
    if (complete_ || settle(point)) return true;
  }
  return false;
}

bool Lattice::settle(std::span<Level> point) {
  assign(point);
  for (const auto i : compiled_->activation_order) {
    if (!axes_[i].conditional) continue;
    if (!compiled_->is_active(i, assignment_)) {
      point[i] = kNoLevel;
      assignment_[i] = Operand();
    } else if (point[i] == kNoLevel) {
      point[i] = axes_[i].default_level;
      assignment_[i] = operands_[i][point[i]];
    }
  }
  return compiled_->satisfies_all(assignment_);
}

bool Lattice::valid(Point point) {
  assign(point);
  for (const auto i : compiled_->activation_order)
    if ((point[i] != kNoLevel) != compiled_->is_active(i, assignment_)) return false;
  return compiled_->satisfies_all(assignment_);
}

void Lattice::neighbours(Point point, PointList& found) {
  for (std::size_t i = 0; i < point.size(); ++i) {
    if (point[i] == kNoLevel) continue;
    const auto levels = static_cast<Level>(axes_[i].levels);
    for (Level level = 0; level < levels; ++level) {
      if (level == point[i]) continue;
      std::ranges::copy(point, moved_.begin());
      moved_[i] = level;
      if (settle(moved_)) found.push_back(moved_);
    }
  }
}

Configuration Lattice::configuration(Point point) const {
  Configuration::Values values;
  for (std::size_t i = 0; i < point.size(); ++i)
    if (point[i] != kNoLevel) values.emplace(compiled_->parameters[i].name, axes_[i].values[point[i]]);
  return Configuration(std::move(values));
}

std::optional<std::vector<Level>> Lattice::point_of(const Configuration& configuration) const {
  std::vector<std::string> reasons;
  const auto assignment = compiled_->assignment_of(configuration, reasons);
  if (!reasons.empty()) return std::nullopt;
  std::vector<Level> point(axes_.size());
  for (std::size_t i = 0; i < point.size(); ++i) point[i] = level_of(i, assignment[i]);
  return point;
}

}  // namespace nocturne::space
