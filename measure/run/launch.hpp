#pragma once

/// Run-stage parameters that live outside the process: what a worker's environment, CPUs and preloaded libraries are.
///
/// The same function serves the runs of a campaign, `nocturne apply` and the exported shell script, so that what is
/// deployed is what was measured. Parameters that are not in the table concern the worker alone and are passed over.

#include <expected>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "measure/supervisor/memory_policy.hpp"
#include "measure/topology/topology.hpp"
#include "space/configuration.hpp"

namespace nocturne::measure {

/// Ready to use; LD_PRELOAD is not in `set` but in `preload`, variables() joins them.
struct LaunchSettings {
  std::map<std::string, std::string> set;  ///< environment variables
  /// Variables the table governs and this configuration does not set: removed, or a variable of the caller's shell
  /// would be measured and not stored.
  std::vector<std::string> unset;
  std::vector<int> cpus;  ///< allowed CPUs, ascending; empty: leave as they are
  MemoryPolicy memory{};  ///< not set: leave as it is
  std::vector<std::filesystem::path> preload{};
  friend bool operator==(const LaunchSettings&, const LaunchSettings&) = default;

  /// `set` with LD_PRELOAD composed.
  [[nodiscard]] std::map<std::string, std::string> variables() const;
  /// "0,2-3" as taskset -c and cpusets write it; empty where cpus is.
  [[nodiscard]] std::string cpu_list() const;
};

/// The words of a command that starts `argv` so by hand: "env -u NAME NAME=VALUE … taskset -c 0,2-3 numactl
/// --membind=0 PROGRAM …", for shell_command() (shell_words.hpp).
[[nodiscard]] std::vector<std::string> typed_words(const LaunchSettings& settings, std::span<const std::string> argv);
/// What of it stands behind the environment: on which CPUs and memory nodes. None where neither is set.
[[nodiscard]] std::vector<std::string> placing_words(const LaunchSettings& settings);

/// What the settings depend on beside the configuration. Filled by probe_launch_machine(), or by hand in tests.
struct LaunchMachine {
  std::vector<LogicalCpu> allowed;  ///< that this process may use, ascending by cpu
  /// File name of a shared library → its path, empty where this machine has none.
  std::function<std::optional<std::filesystem::path>(std::string_view)> find_library;
};
/// Reads the affinity mask and the topology.
[[nodiscard]] LaunchMachine probe_launch_machine();

/// One row of the table of parameters.
struct LaunchParameter {
  std::string_view name;    ///< "env.NAME" stands for any variable
  std::string_view values;  ///< readable form of the allowed values
  std::string_view sets;    ///< the variables or properties it sets
  std::string_view explanation;
};
/// threads, affinity, memory_policy, wait_policy, huge_pages, allocator, isa_cap, env.NAME.
[[nodiscard]] std::span<const LaunchParameter> launch_parameters();
/// In the table, or env.SOMETHING.
[[nodiscard]] bool is_launch_parameter(std::string_view name);

/// A variable that the table governs, and the parameter that sets it.
struct GovernedVariable {
  std::string_view name, parameter;
};
[[nodiscard]] std::span<const GovernedVariable> governed_variables();

/// The error is a sentence that names the parameter, the value and what is allowed, or the package to install.
[[nodiscard]] std::expected<LaunchSettings, std::string> launch_settings(const space::Configuration& configuration,
                                                                         const LaunchMachine& machine);

/// Values of `allocator` that this machine can use: "glibc", "glibc-large" always.
[[nodiscard]] std::vector<std::string> available_allocators(const LaunchMachine& machine);

/// Values of `affinity` that differ from each other on this machine: "l3" and "numa" where its CPUs have several L3
/// caches, several memory nodes. The others may be used all the same.
[[nodiscard]] std::vector<std::string> distinct_affinities(const LaunchMachine& machine);

/// Values of `memory_policy`; none where its CPUs have one memory node.
[[nodiscard]] std::vector<std::string> distinct_memory_policies(const LaunchMachine& machine);

}  // namespace nocturne::measure
