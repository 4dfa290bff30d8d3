#pragma once

/// Where a job runs: its scheduler, partitions, storage, and what a site wants first. One file each; README.md beside
/// this file has the keys.

#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "tuner/campaign_file/problem.hpp"

namespace nocturne::tuner {

/// URL of a location → its class, default-common < default-high < default-ssd < default-ultra_high.
using Storage = std::map<std::string, std::string>;

/// Nodes of one kind.
struct Partition {
  std::string name;
  std::optional<std::int64_t> nodes{};  ///< empty: not known
  bool is_default = false;
  Storage storage;                           ///< besides the infrastructure's
  std::optional<std::int64_t> node_cores{};  ///< of all processors of a node; empty: not known
  std::string accelerator{};                 ///< its type; empty: none
};

/// A value type.
struct Infrastructure {
  std::string name, description;
  bool disabled = false;
  std::string scheduler;                    ///< slurm, torque; empty: none
  std::string container_runtime;            ///< empty: not known
  std::vector<std::string> modules;         ///< lines of a shell
  std::string shared_folder, local_folder;  ///< seen by all nodes, of one node; empty: not known
  Storage storage;
  std::vector<Partition> partitions{};

  /// Null: there is none of that name, or, without a name, no default.
  [[nodiscard]] const Partition* partition(std::string_view named) const;
  /// The infrastructure's and those of the partition.
  [[nodiscard]] Storage storage_of(const Partition* partition) const;
};

/// Slower ones first; 0 where the class is none.
[[nodiscard]] int rank_of_storage(std::string_view storage_class);

/// The location of that class, else the next slower, else the slowest; empty: no storage is known. Without a preference
/// the slowest.
[[nodiscard]] std::optional<std::pair<std::string, std::string>> preferred_storage(const Storage& storage,
                                                                                   std::string_view preference);

/// The text of a file. Beyond the schema: a microarchitecture descends from its architecture, naccel and accel go
/// together, at most one partition is the default.
[[nodiscard]] std::expected<Infrastructure, std::vector<Problem>> read_infrastructure(std::string_view text,
                                                                                      const std::string& file,
                                                                                      const std::string& stem);

}  // namespace nocturne::tuner
