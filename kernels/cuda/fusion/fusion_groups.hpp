#pragma once

/// Which rows of a network can be fused in their forward pass.
///
///   a convolution or dense layer with its bias, its rectifier, or both;
///   a convolution with the statistics of the normalisation that reads it: sums and sums of squares are taken while the
///   output is written, and the normalisation and its rectifier become one pass over memory.
///
/// Training allows both: the backward pass reads a rectifier's output, never what went into it, and mean and deviation
/// of the batch are kept as before. What a normalisation makes is written as before too, for the next layer's backward
/// pass reads it again; so it cannot vanish into the convolution behind it.

#include <cstddef>
#include <optional>
#include <vector>

#include "kernels/cuda/plan/network_plan.hpp"

namespace nocturne::cuda {

struct FusionGroup {
  std::size_t row = 0;                       ///< convolution or dense
  std::optional<std::size_t> normalisation;  ///< the row that takes its statistics
  friend bool operator==(const FusionGroup&, const FusionGroup&) = default;
};

/// In the order of the rows.
[[nodiscard]] std::vector<FusionGroup> fusion_groups(const NetworkPlan& plan);

}  // namespace nocturne::cuda
