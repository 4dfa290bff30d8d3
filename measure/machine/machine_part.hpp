#pragma once

/// A part of a machine that measures by itself while the others do: a GPU with its share of the cores and the memory,
/// or a memory node with its cores.
///
/// A process is in a part by what it was started with: CPUs that it may use, and variables of its environment. So all
/// that looks at the machine (machine.hpp) sees the part alone, and whatever is started from there stays in it.

#include <cstdint>
#include <expected>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "measure/topology/topology.hpp"

namespace nocturne::measure {

enum class PartKind { Gpu, Numa };
[[nodiscard]] std::string_view to_text(PartKind kind);  ///< "gpu", "numa"
[[nodiscard]] std::optional<PartKind> part_kind_from_text(std::string_view text);
[[nodiscard]] std::string_view plural(PartKind kind);  ///< in sentences: "GPUs", "memory nodes"
/// Of a part by its name, "gpu0". Empty: no part is called so.
[[nodiscard]] std::optional<PartKind> kind_of_part(std::string_view name);

struct MachinePart {
  std::string name{};             ///< "gpu0", "numa1"
  std::vector<int> cpus{};        ///< logical ones, ascending; whole cores
  std::string gpu{};              ///< its word in CUDA_VISIBLE_DEVICES; empty: it has none
  std::int64_t memory_bytes = 0;  ///< its share
  friend bool operator==(const MachinePart&, const MachinePart&) = default;
};

/// A GPU that a process may use.
struct VisibleGpu {
  std::string word{};   ///< in CUDA_VISIBLE_DEVICES: "0", "GPU-8932f937…", "MIG-…"
  std::string model{};  ///< as the driver has it; empty: there is no driver
  int node = -1;        ///< memory node that it is attached to; -1: not known
};

/// By CUDA_VISIBLE_DEVICES where that is set, as Slurm does for whoever asked for GPUs; else all that the driver shows.
[[nodiscard]] std::vector<VisibleGpu> visible_gpus(const std::filesystem::path& root = "/");

/// The variables that say which those are, as far as they are set; for whoever is started with another environment.
[[nodiscard]] std::map<std::string, std::string> visible_gpu_variables();

/// Parts with equally many cores each. `cpus`: what may be used, `memory_bytes` likewise. A GPU gets the cores of its
/// own memory node where there are enough; cores that are left over belong to no part. The error is a sentence without
/// a full stop.
[[nodiscard]] std::expected<std::vector<MachinePart>, std::string> parts_by_gpu(std::span<const LogicalCpu> cpus,
                                                                                std::span<const VisibleGpu> gpus,
                                                                                std::int64_t memory_bytes);
[[nodiscard]] std::expected<std::vector<MachinePart>, std::string> parts_by_node(std::span<const LogicalCpu> cpus,
                                                                                 std::int64_t memory_bytes);

/// Those of what this process may use.
[[nodiscard]] std::expected<std::vector<MachinePart>, std::string> parts_of_this_machine(PartKind kind);

/// The words of a command that starts `argv` in the part.
[[nodiscard]] std::vector<std::string> words_in_part(const MachinePart& part, std::span<const std::string> argv);

/// Name of the part that this process is in; empty: none, the machine is its.
[[nodiscard]] std::string present_part();
/// The variables that say so; none: it is in none.
[[nodiscard]] std::vector<std::string> present_part_variables();
/// Its share of the memory; empty: it is in none.
[[nodiscard]] std::optional<std::int64_t> present_part_memory_bytes();

}  // namespace nocturne::measure
