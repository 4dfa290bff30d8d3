#pragma once

/// Clears what a killed supervisor left behind. Called once when a tuner starts.

#include <cstddef>
#include <string>
#include <vector>

namespace nocturne::measure {

struct SweepReport {
  std::vector<std::string> runs;  ///< ids whose processes were found and killed
  std::size_t processes = 0;
  std::size_t cgroups = 0;  ///< left-over control groups removed
};

/// Kills this user's processes that carry the NOCTURNE_RUN_ID of a supervisor that is no longer alive, and removes its
/// control groups. Runs of living tuners, and of other PID namespaces (containers), are left alone.
SweepReport sweep();

}  // namespace nocturne::measure
