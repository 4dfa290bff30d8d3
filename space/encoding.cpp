#include "space/encoding.hpp"

#include <algorithm>
#include <cmath>

namespace nocturne::space {
namespace {

double position_of(const Parameter& parameter, const Value& value) {
  if (parameter.is_real()) return parameter.to_unit(std::get<double>(value));
  if (parameter.kind == Kind::Integer) return parameter.to_unit(static_cast<double>(std::get<std::int64_t>(value)));
  const auto last = parameter.size() - 1;
  return last == 0 ? 0 : static_cast<double>(*parameter.index_of(value)) / static_cast<double>(last);
}

/// Index of the value whose position is nearest.
std::uint64_t nearest_index(const Parameter& parameter, double position) {
  const auto count = parameter.size();
  const auto last = static_cast<double>(count - 1);
  const double inside = position >= 0 ? std::min(position, 1.0) : 0;  // NaN becomes 0
  // As a double the last index of a very long range is rounded up, beyond the range.
  const auto index_near = [&](double index) { return std::min(static_cast<std::uint64_t>(index), count - 1); };
  if (parameter.kind != Kind::Integer || !parameter.logarithmic) return index_near(std::round(inside * last));
  const auto number = [&](std::uint64_t index) {
    return static_cast<double>(std::get<std::int64_t>(parameter.value(index)));
  };
  const double wanted = number(0) * std::pow(number(count - 1) / number(0), inside);
  const auto below = index_near(std::clamp((wanted - number(0)) / static_cast<double>(parameter.step), 0.0, last));
  const auto above = std::min(below + 1, count - 1);
  const auto distance = [&](std::uint64_t index) { return std::fabs(parameter.to_unit(number(index)) - inside); };
  return distance(above) < distance(below) ? above : below;
}

}  // namespace

Encoding::Encoding(Space space) : space_(std::move(space)) {
  const auto& parameters = space_.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto& parameter = parameters[i];
    if (parameter.is_conditional()) columns_.push_back({parameter.name + " active", i});
    if (parameter.kind != Kind::Categorical) {
      columns_.push_back({parameter.name, i});
      continue;
    }
    for (const auto& value : parameter.values) columns_.push_back({parameter.name + "=" + to_text(value), i});
  }
}

Eigen::VectorXd Encoding::encode(const Configuration& configuration) const {
  Eigen::VectorXd vector = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(columns_.size()));
  Eigen::Index column = 0;
  for (const auto& parameter : space_.parameters()) {
    const auto* value = configuration.find(parameter.name);
    if (parameter.is_conditional()) vector[column++] = value != nullptr ? 1 : 0;
    if (parameter.kind == Kind::Categorical) {
      if (value != nullptr) vector[column + static_cast<Eigen::Index>(*parameter.index_of(*value))] = 1;
      column += static_cast<Eigen::Index>(parameter.size());
    } else {
      if (value != nullptr) vector[column] = position_of(parameter, *value);
      ++column;
    }
  }
  return vector;
}

Configuration Encoding::decode(const Eigen::VectorXd& vector) const {
  Configuration configuration;
  Eigen::Index column = 0;
  for (const auto& parameter : space_.parameters()) {
    if (parameter.is_conditional()) ++column;  // activity follows from the other values
    if (parameter.is_real()) {
      configuration.set(parameter.name, parameter.real_from_unit(vector[column++]));
    } else if (parameter.kind == Kind::Categorical) {
      const auto size = static_cast<Eigen::Index>(parameter.size());
      Eigen::Index best = 0;
      vector.segment(column, size).maxCoeff(&best);
      configuration.set(parameter.name, parameter.value(static_cast<std::uint64_t>(best)));
      column += size;
    } else {
      configuration.set(parameter.name, parameter.value(nearest_index(parameter, vector[column++])));
    }
  }
  return space_.normalise(configuration);
}

}  // namespace nocturne::space
