#pragma once

/// Clears what killed tuners left in the storage of runtimes: containers whose owner is gone. Their processes are found
/// and ended by sweep() (measure/run/sweep.hpp) as well; this removes the runtime's record of them.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "measure/container/container.hpp"

namespace nocturne::measure {

/// Reads the lines "ID OWNER" of ContainerRuntime::list_command and returns the ids whose owner is no living process.
/// Lines whose owner cannot be understood are ignored: those containers are not ours.
[[nodiscard]] std::vector<std::string> ownerless(std::string_view lines);

/// Removes them, for each runtime given; how many. A runtime that does not answer is passed over.
std::size_t sweep_containers(std::span<const ContainerRuntime* const> runtimes);

}  // namespace nocturne::measure
