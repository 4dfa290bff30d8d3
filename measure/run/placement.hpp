#pragma once

/// Which CPUs so many threads sit on: orders of the logical CPUs that a process may use. Pure. Fast cores come before
/// slower ones.

#include <cstddef>
#include <span>
#include <vector>

#include "measure/topology/topology.hpp"

namespace nocturne::measure {

/// The first `count` CPUs when neighbours stand side by side: all threads of a core, then the next core.
[[nodiscard]] std::vector<int> neighbouring_cpus(std::span<const LogicalCpu> allowed, std::size_t count);

/// `count` CPUs as far apart as can be: packages in turn, even gaps between the cores used in each, second threads
/// last. Slower cores are left out where the fast ones suffice.
[[nodiscard]] std::vector<int> distant_cpus(std::span<const LogicalCpu> allowed, std::size_t count);

/// One domain after the other, an L3 cache or a memory node by `domain`, the largest first; in each, first one thread
/// of each core.
[[nodiscard]] std::vector<int> filled_domains(std::span<const LogicalCpu> allowed, std::size_t count,
                                              int LogicalCpu::* domain);

}  // namespace nocturne::measure
