#include "tuner/campaign/preparation.hpp"

#include <algorithm>

namespace nocturne::tuner {
namespace {

std::string values_of(const space::Configuration& configuration, std::span<const std::string> names) {
  space::Configuration part;
  for (const std::string& name : names) {
    if (const auto* value = configuration.find(name)) part.set(name, *value);
  }
  return part.canonical();
}

}  // namespace

PreparationCosts::PreparationCosts(const space::Space& space, std::span<const db::BuildRecord> builds,
                                   std::int64_t began_unix_ns) {
  bool any_build = false;
  for (const space::Parameter& parameter : space.parameters()) {
    if (parameter.stage == space::Stage::Environment) environment_.push_back(parameter.name);
    if (parameter.stage <= space::Stage::Build) build_.push_back(parameter.name);
    any_build = any_build || parameter.stage == space::Stage::Build;
  }
  if (!any_build) build_.clear();
  std::vector<double> seconds;
  for (const db::BuildRecord& build : builds) {
    if (build.build_ns > 0 && build.created_unix_ns < began_unix_ns)
      seconds.push_back(static_cast<double>(build.build_ns) * 1e-9);
  }
  if (seconds.empty()) return;
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::ranges::nth_element(seconds, middle);
  build_seconds_ = *middle;
}

void PreparationCosts::prepared(const space::Configuration& configuration) {
  environments_.insert(values_of(configuration, environment_));
  builds_.insert(values_of(configuration, build_));
}

double PreparationCosts::seconds(const space::Configuration& configuration) const {
  double sum = 0;
  if (!environment_.empty() && !environments_.contains(values_of(configuration, environment_)))
    sum += kEnvironmentSeconds;
  if (!build_.empty() && !builds_.contains(values_of(configuration, build_))) sum += build_seconds_;
  return sum;
}

void CostAware::tell(std::span<const space::Trial> finished) {
  for (const space::Trial& trial : finished) costs_->prepared(trial.configuration);
  inner_->tell(finished);
}

}  // namespace nocturne::tuner
