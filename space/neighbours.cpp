// Space::neighbours(): configurations one parameter away.

#include <algorithm>
#include <set>

#include "space/model.hpp"
#include "space/space.hpp"

namespace nocturne::space {
namespace {

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
      for (std::uint64_t i = 0; i < kSpread; ++i) {
        result.insert((count - 1) / (kSpread - 1) * i + (count - 1) % (kSpread - 1) * i / (kSpread - 1));
      }
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
  for (int i = 0; i <= kRealSteps && reach == Reach::All; ++i) {
    result.insert(parameter.real_from_unit(static_cast<double>(i) / kRealSteps));
  }
  if (reach == Reach::Adjacent) {
    result.insert(parameter.real_from_unit(unit - 1.0 / kRealSteps));
    result.insert(parameter.real_from_unit(unit + 1.0 / kRealSteps));
  }
  result.erase(present);
  return result;
}

std::vector<Operand> alternatives(const Space::Model& model, std::size_t index, Operand present, Reach reach) {
  const auto& parameter = model.parameters[index];
  std::vector<Operand> result;
  if (parameter.is_real()) {
    for (const auto number : reachable_numbers(parameter, present.real(), reach)) result.push_back(Operand::of(number));
  } else {
    for (const auto i : reachable(parameter, *parameter.index_of(present.value()), reach)) {
      result.push_back(model.operand(index, i));
    }
  }
  return result;
}

}  // namespace

std::vector<Configuration> Space::neighbours(const Configuration& configuration, Reach reach) const {
  std::vector<std::string> reasons;
  const auto centre = model_->assignment_of(configuration, reasons);
  std::vector<Configuration> result;
  if (!reasons.empty()) return result;
  for (std::size_t i = 0; i < centre.size(); ++i) {
    if (centre[i].is_nothing()) continue;
    for (const auto value : alternatives(*model_, i, centre[i], reach)) {
      auto moved = centre;
      moved[i] = value;
      model_->settle_activity(moved);
      if (model_->satisfies_all(moved)) result.push_back(model_->configuration_of(moved));
    }
  }
  return result;
}

}  // namespace nocturne::space
