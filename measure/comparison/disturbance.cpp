#include "measure/comparison/disturbance.hpp"

#include <fmt/format.h>

namespace nocturne::measure {
namespace {

std::string others_took(double share, bool paired) {
  return fmt::format("other processes{} took {:.0f} % of the machine",
                     paired ? ", the pair's other side among them where they took turns," : "", 100 * share);
}

std::string hypervisor_took(double share) {
  return fmt::format("the hypervisor took {:.1f} % of the CPU time", 100 * share);
}

}  // namespace

std::string held_back(const space::Run& run) {
  std::string reasons;
  if (!run.device) return reasons;
  for (const auto& [reason, share] : run.device->throttled) {
    if (reason == "power_cap" || share <= kQuietThrottled) continue;
    reasons += fmt::format("{}{} in {:.0f} % of its readings", reasons.empty() ? "" : ", ", reason, 100 * share);
  }
  return reasons;
}

std::string under_load(const space::Run& run) {
  const space::Load& load = run.load;
  if (run.purpose == space::Purpose::Verify) return {};
  if (load.other_cpu.value_or(0) > kMuchOthers) return others_took(*load.other_cpu, false);
  if (load.steal.value_or(0) > kMuchSteal) return hypervisor_took(*load.steal);
  return {};
}

bool was_slowed(const space::Run& run) {
  return !held_back(run).empty() || !under_load(run).empty();
}

std::vector<std::string> disturbances(const space::Run& run) {
  std::vector<std::string> found;
  if (const std::string reasons = held_back(run); !reasons.empty())
    found.push_back("its device was held back: " + reasons);
  const space::Load& load = run.load;
  if (load.other_cpu.value_or(0) > kQuietOthers) {
    // In pairs that take turns the other side's process is one of them, and nothing was disturbed by it.
    found.push_back(others_took(*load.other_cpu, run.purpose == space::Purpose::Verify));
  }
  if (load.steal.value_or(0) > kQuietSteal) found.push_back(hypervisor_took(*load.steal));
  return found;
}

}  // namespace nocturne::measure
