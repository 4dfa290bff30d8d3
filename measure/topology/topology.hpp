#pragma once

/// Processors, caches and memory nodes of a machine, as hwloc (https://www.open-mpi.org/projects/hwloc) sees them.

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace nocturne::measure {

struct Cache {
  int level = 0;
  std::string type;  ///< Data, Instruction, Unified
  std::int64_t bytes = 0;
  int count = 0;  ///< how many of these the machine has
  friend bool operator==(const Cache&, const Cache&) = default;
};

/// A logical CPU and where it sits.
struct LogicalCpu {
  int cpu = 0;      ///< the kernel's number
  int core = 0;     ///< physical core, unique in its package
  int package = 0;  ///< socket
  int l3 = 0;       ///< which L3 cache; -1: none
  int node = 0;     ///< the kernel's number of its memory node
  int kind = 0;     ///< of core: 0 are the fastest, as performance cores; the next are slower
  friend bool operator==(const LogicalCpu&, const LogicalCpu&) = default;
};

struct Topology {
  std::vector<LogicalCpu> cpus;  ///< those that are online, ascending, whether or not this process may use them
  std::vector<Cache> caches;     ///< by level, type, size
  int packages = 0;
  int cores = 0;
  int nodes = 0;  ///< of memory, with and without CPUs
};

/// Tests describe machines that they have not. Both empty: this machine.
struct TopologySource {
  std::string synthetic{};      ///< hwloc's description: "pack:2 l3:2 core:4 pu:2"
  std::filesystem::path xml{};  ///< as `lstopo FILE.xml` writes it
  [[nodiscard]] bool is_this_machine() const { return synthetic.empty() && xml.empty(); }
};

/// Empty where it cannot be read. Starts no program, moves no thread, takes about 0.15 ms a CPU.
[[nodiscard]] Topology read_topology(const TopologySource& source = {});

/// Of these CPUs where each sits, in their order. One that the topology does not have is a core of its own.
[[nodiscard]] std::vector<LogicalCpu> places_of(const Topology& topology, std::span<const int> cpus);

/// Distinct physical cores, of each kind, fastest first: {8, 16}. Empty for no CPU.
[[nodiscard]] std::vector<int> cores_by_kind(std::span<const LogicalCpu> cpus);

}  // namespace nocturne::measure
