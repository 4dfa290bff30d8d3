#include "tuner/doctor/container_checks.hpp"

#include <algorithm>

#include "measure/artifact/parallel.hpp"
#include "measure/container/container.hpp"

namespace nocturne::tuner {

std::vector<RuntimeState> probe_runtimes() {
  const auto runtimes = measure::container_runtimes();
  std::vector<RuntimeState> states(runtimes.size());
  // Each is a program that takes its time.
  measure::for_each_in_parallel(runtimes.size(), static_cast<int>(runtimes.size()), [&](std::size_t i) {
    RuntimeState& state = states[i];
    state.name = runtimes[i]->name();
    state.package = runtimes[i]->package();
    state.obstacle = runtimes[i]->obstacle();
    if (state.obstacle.empty()) state.version = runtimes[i]->version();
    return true;
  });
  return states;
}

std::vector<Diagnosis> check_containers(const std::vector<RuntimeState>& runtimes) {
  const bool any = std::ranges::any_of(runtimes, [](const RuntimeState& each) { return each.obstacle.empty(); });
  std::vector<Diagnosis> findings;
  for (const RuntimeState& state : runtimes) {
    Diagnosis finding{.subject = state.name};
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
