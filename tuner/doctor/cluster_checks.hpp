#pragma once

/// What a cluster allows. Pure: all from what was probed.

#include <expected>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/doctor/cluster_probe.hpp"
#include "tuner/doctor/finding.hpp"

namespace nocturne::tuner {

/// `missing`: commands that are not on PATH. `version`: what `sinfo --version` says.
[[nodiscard]] Diagnosis check_slurm_commands(const std::vector<std::string>& missing, const std::string& version);

/// What the nodes of the partition do.
[[nodiscard]] Diagnosis check_cluster_nodes(const std::vector<ClusterNode>& nodes);
/// Which kinds of them there are, as Slurm knows them.
[[nodiscard]] Diagnosis check_node_kinds(const std::vector<ClusterNode>& nodes);
/// How long a job may last, and how many trials it may have. `partition`: null: there is none.
[[nodiscard]] Diagnosis check_job_limits(const SlurmSettings& settings, const ClusterPartition* partition);
/// `allowed`: may_be_requeued() of slurm/job.hpp.
[[nodiscard]] Diagnosis check_requeue(const std::expected<bool, std::string>& allowed);

// Of the answers of nodes, of which there is at least one.

/// Whether each sees what this machine wrote into the data folder, and what the others did.
[[nodiscard]] Diagnosis check_sharing(const std::vector<NodeAnswer>& answers, const std::filesystem::path& folder);
/// Whether each has a folder on a disk of its own, for what runs load.
[[nodiscard]] Diagnosis check_local_folders(const std::vector<NodeAnswer>& answers);
/// Whether this program runs there.
[[nodiscard]] Diagnosis check_program_on_nodes(const std::vector<NodeAnswer>& answers);
/// Which classes they form: sets that agree in what must match.
[[nodiscard]] Diagnosis check_classes(const std::vector<NodeAnswer>& answers);
/// How nodes of one class differ in what may change times.
[[nodiscard]] Diagnosis check_likeness(const std::vector<NodeAnswer>& answers);
[[nodiscard]] Diagnosis check_clocks(const std::vector<NodeAnswer>& answers);

}  // namespace nocturne::tuner
