#include "tuner/campaign/curves/learning_sets.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "tuner/campaign/fitting.hpp"

namespace nocturne::tuner {
namespace {

std::vector<std::int64_t> places_of(const std::vector<const space::Parameter*>& parameters,
                                    const space::Configuration& values) {
  std::vector<std::int64_t> places;
  for (const space::Parameter* parameter : parameters) {
    const space::Value* value = values.find(parameter->name);
    std::int64_t place = -1;
    for (std::uint64_t i = 0; value != nullptr && i < parameter->size(); ++i)
      if (parameter->value(i) == *value) place = static_cast<std::int64_t>(i);
    places.push_back(place);
  }
  return places;
}

/// Counts through all combinations, the last parameter first; false behind the last one.
bool advance(std::vector<std::uint64_t>& at, const std::vector<const space::Parameter*>& parameters) {
  for (std::size_t i = parameters.size(); i-- > 0;) {
    if (++at[i] < parameters[i]->size()) return true;
    at[i] = 0;
  }
  return false;
}

}  // namespace

space::Configuration learning_values(const space::Configuration& configuration, const std::vector<std::string>& names) {
  space::Configuration values;
  for (const std::string& name : names)
    if (const space::Value* value = configuration.find(name)) values.set(name, *value);
  return values;
}

std::vector<LearningSet> learning_sets(const space::Space& space, const std::vector<std::string>& names) {
  std::vector<const space::Parameter*> parameters;
  for (const std::string& name : names)
    if (const space::Parameter* parameter = space.find(name)) parameters.push_back(parameter);
  const space::Configuration& usual = space.default_configuration();
  std::vector<LearningSet> sets;
  std::set<std::string> known;
  const auto add = [&](const space::Configuration& configuration) {
    space::Configuration values = learning_values(configuration, names);
    if (!known.insert(values.identity()).second) return;
    auto places = places_of(parameters, values);
    sets.push_back({.values = std::move(values), .configuration = configuration, .places = std::move(places)});
  };
  add(usual);
  std::vector<std::uint64_t> at(parameters.size(), 0);
  do {
    space::Configuration changed = usual;
    for (std::size_t i = 0; i < parameters.size(); ++i) changed.set(parameters[i]->name, parameters[i]->value(at[i]));
    if (const auto valid = fitted(space, space.normalise(changed), names)) add(*valid);
  } while (sets.size() < kMostLearningSets && advance(at, parameters));
  return sets;
}

}  // namespace nocturne::tuner
