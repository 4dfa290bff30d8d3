#include "measure/comparison/disturbance.hpp"

#include <fmt/format.h>

namespace nocturne::measure {

std::string held_back(const space::Run& run) {
  std::string reasons;
  if (!run.device) return reasons;
  for (const auto& [reason, share] : run.device->throttled) {
    if (reason == "power_cap" || share <= kQuietThrottled) continue;
    reasons += fmt::format("{}{} in {:.0f} % of its readings", reasons.empty() ? "" : ", ", reason, 100 * share);
  }
  return reasons;
}

std::vector<std::string> disturbances(const space::Run& run) {
  std::vector<std::string> found;
  if (const std::string reasons = held_back(run); !reasons.empty())
    found.push_back("its device was held back: " + reasons);
  const space::Load& load = run.load;
  if (load.other_cpu.value_or(0) > kQuietOthers) {
    // In pairs that take turns the other side's process is one of them, and nothing was disturbed by it.
    const bool paired = run.purpose == space::Purpose::Verify;
    found.push_back(fmt::format("other processes{} took {:.0f} % of the machine",
                                paired ? ", the pair's other side among them where they took turns," : "",
                                100 * *load.other_cpu));
  }
  if (load.steal.value_or(0) > kQuietSteal)
    found.push_back(fmt::format("the hypervisor took {:.1f} % of the CPU time", 100 * *load.steal));
  return found;
}

}  // namespace nocturne::measure
