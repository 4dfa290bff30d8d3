#include "tuner/campaign/single_changes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "tuner/campaign/fitting.hpp"
#include "tuner/campaign_file/command_section.hpp"

namespace nocturne::tuner {
namespace {

constexpr std::uint64_t kFewValues = 4;

/// The middle and both ends of a range.
std::vector<space::Value> spread_values(const space::Parameter& parameter) {
  constexpr double kMiddle = 0.5;
  if (parameter.is_real())
    return {parameter.real_from_unit(kMiddle), parameter.real_from_unit(0), parameter.real_from_unit(1)};
  const std::uint64_t last = parameter.size() - 1;
  std::uint64_t middle = last / 2;
  while (middle > 0 &&
         parameter.to_unit(static_cast<double>(std::get<std::int64_t>(parameter.value(middle)))) > kMiddle) {
    middle /= 2;
  }
  return {parameter.value(middle), parameter.value(0), parameter.value(last)};
}

/// Those to try, in their order.
std::vector<space::Value> values_of(const space::Parameter& parameter) {
  const bool range = parameter.kind == space::Kind::Integer || parameter.is_real();
  if (parameter.is_real() || (range && parameter.size() > kFewValues)) return spread_values(parameter);
  std::vector<space::Value> values;
  for (std::uint64_t i = 0; i < parameter.size(); ++i) values.push_back(parameter.value(i));
  return values;
}

std::vector<SingleChange> changes_of(const space::Space& space, const space::Parameter& parameter) {
  std::vector<SingleChange> changes;
  for (const space::Value& value : values_of(parameter))
    if (auto change = single_change(space, parameter.name, value)) changes.push_back(*std::move(change));
  return changes;
}

}  // namespace

std::optional<SingleChange> single_change(const space::Space& space, const std::string& parameter,
                                          const space::Value& value) {
  space::Configuration changed = space.default_configuration();
  const space::Value* const usual = changed.find(parameter);
  if (usual != nullptr && *usual == value) return std::nullopt;
  changed.set(parameter, value);
  auto configuration = fitted(space, space.normalise(changed), {parameter});
  if (!configuration) return std::nullopt;
  SingleChange change{parameter, value, *std::move(configuration)};
  if (!is_part_of(change, change.configuration)) return std::nullopt;  // inactive beside the default
  return change;
}

bool is_part_of(const SingleChange& change, const space::Configuration& configuration) {
  const space::Value* const value = configuration.find(change.parameter);
  return value != nullptr && *value == change.value;
}

std::vector<SingleChange> single_changes(const space::Space& space, const measure::CommandTemplate& command) {
  const std::vector<std::string> named = names_in(command);
  std::array<std::vector<std::vector<SingleChange>>, 3> groups;
  for (const space::Parameter& parameter : space.parameters()) {
    const bool is_lever = command.levers.contains(parameter.name);
    const bool is_named = std::ranges::find(named, parameter.name) != named.end();
    groups.at(is_lever ? 0 : is_named ? 1 : 2).push_back(changes_of(space, parameter));
  }
  std::vector<SingleChange> result;
  for (auto& group : groups) {
    std::size_t most = 0;
    for (const auto& changes : group) most = std::max(most, changes.size());
    for (std::size_t round = 0; round < most; ++round) {
      for (auto& changes : group)
        if (round < changes.size()) result.push_back(std::move(changes[round]));
    }
  }
  return result;
}

bool single_change_fits(std::int64_t taken, std::optional<std::int64_t> trials) {
  return !trials || static_cast<double>(taken + 1) <= kSingleChangeShare * static_cast<double>(*trials);
}

}  // namespace nocturne::tuner
