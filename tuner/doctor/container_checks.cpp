#include "tuner/doctor/container_checks.hpp"

#include <algorithm>

#include "measure/container/container.hpp"

namespace nocturne::tuner {

std::vector<RuntimeState> probe_runtimes() {
  std::vector<RuntimeState> states;
  for (const measure::ContainerRuntime* runtime : measure::container_runtimes()) {
    RuntimeState state{.name = std::string(runtime->name()),
                       .version = {},
                       .obstacle = runtime->obstacle(),
                       .package = std::string(runtime->package())};
    if (state.obstacle.empty()) state.version = runtime->version();
    states.push_back(std::move(state));
  }
  return states;
}

std::vector<Finding> check_containers(const std::vector<RuntimeState>& runtimes) {
  const bool any = std::ranges::any_of(runtimes, [](const RuntimeState& each) { return each.obstacle.empty(); });
  std::vector<Finding> findings;
  for (const RuntimeState& state : runtimes) {
    Finding finding{.subject = state.name};
    if (state.obstacle.empty()) {
      finding.found = state.version.empty() ? "usable" : state.version;
    } else {
      finding.health = Health::Optional;
      finding.found = state.obstacle;
      finding.meaning = "container=" + state.name + " cannot be tried";
      if (!any && &state == runtimes.data()) finding.packages.push_back(state.package);
    }
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace nocturne::tuner
