#pragma once

/// Bandwidth and latency of one level of the memory hierarchy, by the threads of a team that each work on their own
/// memory.

#include <cstddef>
#include <string>
#include <vector>

#include "kernels/machine/measurement.hpp"
#include "kernels/machine/repeats.hpp"

namespace nocturne::machine {

/// GB/s of all threads together: the triad on arrays of `elements` each.
[[nodiscard]] Measurement measure_bandwidth(std::string name, const std::vector<int>& cpus, std::size_t elements,
                                            Seconds budget);

/// ns a load, mean over the threads, in rings of `bytes` each.
[[nodiscard]] Measurement measure_latency(std::string name, const std::vector<int>& cpus, std::size_t bytes,
                                          Seconds budget);

/// ns a load of a thread on `cpu` from memory that a thread on `memory_cpu` touched first.
[[nodiscard]] Measurement measure_distance(std::string name, int cpu, int memory_cpu, std::size_t bytes,
                                           Seconds budget);

}  // namespace nocturne::machine
