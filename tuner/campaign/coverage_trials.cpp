#include "tuner/campaign/coverage_trials.hpp"

#include <algorithm>
#include <utility>

#include "tuner/campaign/fitting.hpp"

namespace nocturne::tuner {

std::vector<CoverageTrial> coverage_trials(const space::Space& space) {
  std::vector<CoverageTrial> looks;
  const space::Configuration& base = space.default_configuration();
  for (const space::Parameter& parameter : space.parameters()) {
    if (parameter.stage != space::Stage::Environment || parameter.is_real()) continue;
    const space::Value* const usual = base.find(parameter.name);
    for (std::uint64_t i = 0; i < std::min(parameter.size(), kMostFittingValues); ++i) {
      const space::Value value = parameter.value(i);
      if (usual != nullptr && *usual == value) continue;
      space::Configuration changed = base;
      changed.set(parameter.name, value);
      auto configuration = fitted(space, space.normalise(changed), {parameter.name});
      if (!configuration) continue;
      CoverageTrial look{parameter.name, value, *std::move(configuration)};
      if (is_part_of(look, look.configuration)) looks.push_back(std::move(look));  // else inactive beside the default
    }
  }
  return looks;
}

bool is_part_of(const CoverageTrial& look, const space::Configuration& configuration) {
  const space::Value* const value = configuration.find(look.parameter);
  return value != nullptr && *value == look.value;
}

bool fits(const CoveragePace& pace, std::chrono::nanoseconds next) {
  if (pace.trials && static_cast<double>(pace.taken + 1) > kCoverageShare * static_cast<double>(*pace.trials)) {
    return false;
  }
  return !pace.time ||
         static_cast<double>((pace.spent + next).count()) <= kCoverageShare * static_cast<double>(pace.time->count());
}

}  // namespace nocturne::tuner
