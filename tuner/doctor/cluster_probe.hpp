#pragma once

/// What a cluster says of itself: Slurm's own words of all nodes, and what a few of them say when they are asked.

#include <chrono>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "space/fingerprint.hpp"
#include "tuner/executor/slurm/allocation.hpp"

namespace nocturne::tuner {

/// A node as `sinfo` has it.
struct ClusterNode {
  std::string name{}, state{};  ///< its state as sinfo shortens it: idle, mix, alloc, drain, down*
  std::vector<std::string> partitions{};
  std::optional<std::int64_t> cpus{}, memory_mb{};
  std::string topology{};          ///< sockets:cores:threads
  std::string features{}, gres{};  ///< empty: none

  [[nodiscard]] bool is_idle() const { return state == "idle"; }
  /// It takes jobs, now or when others have ended.
  [[nodiscard]] bool is_up() const;
  /// What Slurm knows of its hardware, in words: "64 CPUs (2:32:1), 256000 MB, avx512".
  [[nodiscard]] std::string kind() const;
};

struct ClusterPartition {
  std::string name{}, longest{};  ///< wall limit of a job as Slurm has it: "2-00:00:00", "infinite"
  bool is_default = false, is_up = true;
};

struct Cluster {
  std::vector<ClusterNode> nodes{};
  std::vector<ClusterPartition> partitions{};

  /// Null: there is none of that name, or, without a name, no default.
  [[nodiscard]] const ClusterPartition* partition(std::string_view named) const;
  /// Those of that partition; without a name those of the default, and all where there is none.
  [[nodiscard]] std::vector<ClusterNode> nodes_of(std::string_view named) const;
};

/// `sinfo -h -N -o FORMAT`: a line for each node and partition.
inline constexpr const char* kSinfoFormat = "%N|%t|%P|%a|%l|%c|%m|%z|%f|%G";
[[nodiscard]] Cluster cluster_from_sinfo(const std::string& text);

/// `scontrol show config`: the value of each setting.
using SlurmSettings = std::map<std::string, std::string, std::less<>>;
[[nodiscard]] SlurmSettings settings_from_scontrol(const std::string& text);

/// What a node answered.
struct NodeAnswer {
  std::string node{};
  bool sees_folder = true;                      ///< that the asking machine has just made in the data folder
  std::set<std::string> sees{};                 ///< nodes whose files in it are seen there, within a minute
  bool seen_here = false;                       ///< its own file is seen by the machine that asked
  std::int64_t clock_ahead_seconds = 0;         ///< of that machine's, for certain; below 0: behind
  bool names_local_folder = false;              ///< of its own disk, for what runs load (executor/staging.hpp)
  std::optional<std::int64_t> local_free_mb{};  ///< free there; empty: no folder that can be written
  std::optional<space::Fingerprint> machine{};  ///< empty: our program did not say what the node is
  std::string reason{};                         ///< why not
};

/// The answers of a step that was asked with `srun --label` between two readings of this machine's clock, in Unix
/// seconds. Pure: `seen_here` is left out.
[[nodiscard]] std::vector<NodeAnswer> read_node_answers(const std::string& printed, const std::string& errors,
                                                        std::int64_t before, std::int64_t after);

struct NodeQuestion {
  SlurmCommands commands{};
  std::vector<std::string> options{};  ///< of srun: which nodes, as which job
  std::size_t nodes = 1;
  bool or_fewer = false;               ///< as many of them as can be had at once
  std::vector<std::string> program{};  ///< nocturne --data FOLDER
  std::filesystem::path folder{};      ///< in the data folder; made, and removed
  std::string local_folder{};          ///< of a node's own disk, where its environment names none; empty: none
};

/// Asks so many nodes at once what they are, and what they see of each other. Blocks for some minutes at most. The
/// error is a sentence: none was free, or Slurm did not want.
[[nodiscard]] std::expected<std::vector<NodeAnswer>, std::string> ask_nodes(const NodeQuestion& question);

}  // namespace nocturne::tuner
