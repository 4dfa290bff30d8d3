#pragma once

/// The nodes of a cluster in classes: sets whose fingerprints agree in what must match. Pure: all from what was probed.

#include <cstddef>
#include <string>
#include <vector>

#include "tuner/doctor/cluster_probe.hpp"

namespace nocturne::tuner {

/// The number of each node's class, from 1; 0: the node did not say what it is.
[[nodiscard]] std::vector<std::size_t> classes_of(const std::vector<NodeAnswer>& answers);

struct NodeClass {
  std::string name{};                ///< six digits of what must match: the same as long as that is
  std::vector<std::string> nodes{};  ///< in the cluster's order
  std::string difference{};          ///< from the first class, in words; of the first: empty
};

struct NodeClasses {
  std::vector<NodeClass> classes{};    ///< in the order of their first answers
  std::vector<std::string> unknown{};  ///< nodes that take jobs, and of which nothing is known
};

/// A node that was not asked is of the class of those that Slurm describes by the same words, where these are all of
/// one class. Nodes that take no jobs are left out.
[[nodiscard]] NodeClasses divide_nodes(const std::vector<ClusterNode>& nodes, const std::vector<NodeAnswer>& answers);

}  // namespace nocturne::tuner
