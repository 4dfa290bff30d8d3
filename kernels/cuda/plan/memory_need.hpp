#pragma once

/// What a training takes on the GPU, known before there is one.

#include <cstdint>
#include <nlohmann/json.hpp>

#include "kernels/cuda/settings.hpp"
#include "kernels/networks/network.hpp"

namespace nocturne::cuda {

/// Bytes by part; the driver's context and cuDNN's kernels come on top.
struct MemoryNeed {
  std::int64_t activations = 0;  ///< and their activation gradients, sharing bytes
  std::int64_t parameters = 0;   ///< masters, gradients, averages, 16-bit copies
  std::int64_t batches = 0;      ///< images and labels on their way in
  std::int64_t small = 0;        ///< statistics and losses
  [[nodiscard]] std::int64_t total() const { return activations + parameters + batches + small; }
};

/// `rest`: images of an epoch's smaller batch where it will be trained, else 0. Throws worker::Unsupported.
[[nodiscard]] MemoryNeed memory_need(const networks::Network& network, const Settings& settings, std::int64_t rest);

/// {"network", "batch", "precision", "activations_bytes", "least_activations_bytes": what no plan can do without,
///  "unshared_activations_bytes", "parameters_bytes", "batches_bytes", "workspace_bytes_at_most", "total_bytes"}
[[nodiscard]] nlohmann::ordered_json describe_need(const networks::Network& network, const Settings& settings);

}  // namespace nocturne::cuda
