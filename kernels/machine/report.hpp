#pragma once

/// A survey as a table for people and as JSON for programs.

#include <iosfwd>
#include <vector>

#include <nlohmann/json.hpp>

#include "kernels/machine/measurement.hpp"
#include "kernels/machine/topology.hpp"

namespace nocturne::machine {

void print_table(std::ostream& out, const std::vector<Measurement>& measurements);

/// What figures are of: as far as it decides what a thread can have.
struct Surroundings {
  int cpus = 0;  ///< this process may use
  std::vector<CacheLevel> caches;
  int memory_nodes = 1;
};
[[nodiscard]] Surroundings this_machine();

/// {"format": 1, "cpus", "caches": [{level, bytes, sharers}], "memory_nodes", "measurements": [{name, unit, threads,
/// kernel, median, minimum, maximum, relative_spread, repeats, tries, sum, right} or {name, unit, threads, absent}],
/// "gpus": []}; of a measurement also working_set_bytes, node, memory_node and doubt, where they matter. GPUs are
/// measured by the program that can use them (README.md has their fields).
[[nodiscard]] nlohmann::json to_json(const std::vector<Measurement>& measurements, const Surroundings& of = {});

}  // namespace nocturne::machine
