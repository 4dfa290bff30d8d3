#pragma once

/// What every run of a worker begins with: phases around work, and the network's table.

#include <stdexcept>
#include <string>

#include "kernels/networks/network.hpp"
#include "kernels/worker/refusal.hpp"
#include "kernels/worker/reporter.hpp"

namespace nocturne::worker {

/// Returns what `work` returns. A phase that an exception leaves stays open in the events: that is where it happened.
template <typename Work>
auto in_phase(Reporter& reporter, const char* name, const Work& work) {
  reporter.phase_begin(name);
  auto result = work();
  reporter.phase_end(name);
  return result;
}

/// Throws Unsupported with the known names where there is no such network.
inline const networks::Network& known_network(const std::string& name) {
  try {
    return networks::find_network(name);
  } catch (const std::out_of_range& error) {
    throw Unsupported(error.what());
  }
}

}  // namespace nocturne::worker
