#pragma once

/// `nocturne doctor --cluster [NAME]`: whether campaigns can run on the nodes of a cluster.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tuner/cli/choice/slurm_options.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/doctor/cluster_probe.hpp"
#include "tuner/doctor/finding.hpp"
#include "tuner/executor/slurm/allocation.hpp"

namespace nocturne::cli {

struct ClusterExamination {
  std::string cluster;  ///< as it is registered, else as Slurm calls it; empty: it does not answer
  std::vector<tuner::Diagnosis> findings{};
  nlohmann::json nodes = nlohmann::json::array();  ///< as the document `doctor-cluster` has them
};

/// Asks Slurm, and up to eight of its idle nodes, or `nodes` of them, by one short job; inside of a job its nodes. Says
/// on context.err what takes its time. Throws Refusal where the named cluster is not registered, or has no Slurm.
[[nodiscard]] ClusterExamination examine_cluster(const SlurmWords& words, const Context& context);

/// For asking the idle nodes of a cluster, `most` at once or as many as the words say; inside of a job its nodes.
/// Empty: there is none. Throws Refusal.
[[nodiscard]] std::optional<tuner::NodeQuestion> question_for(const SlurmWords& words, const Context& context,
                                                              const tuner::SlurmCommands& commands,
                                                              const std::vector<tuner::ClusterNode>& nodes,
                                                              std::size_t most);

}  // namespace nocturne::cli
