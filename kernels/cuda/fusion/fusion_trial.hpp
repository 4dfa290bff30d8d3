#pragma once

/// A trial of fusion on the GPU: the same random tensors through the operations one by one and through the graph.

#include "kernels/cuda/fusion/fusion_choice.hpp"
#include "kernels/cuda/layers/device_layer.hpp"

namespace nocturne::cuda {

/// A row that was prepared, and where it takes the statistics of a normalisation, that one.
struct FusedRows {
  DeviceLayer* weighted = nullptr;
  const LayerPlace* weighted_place = nullptr;
  DeviceLayer* normalisation = nullptr;  ///< null: it has none
  const LayerPlace* normalisation_place = nullptr;
};

/// Tries it and leaves the rows using what is better. Spoils whatever lies in their tensors, parameters included; what
/// cannot be tried stays apart.
[[nodiscard]] FusionChoice settle_fusion(const FusedRows& rows, const Pass& pass);

}  // namespace nocturne::cuda
