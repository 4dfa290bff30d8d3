#pragma once

/// What a step over a network needs of the device's memory, for one batch size: where each row's output lies, where the
/// activation gradient (the loss's derivative with respect to it), and how a row hands activation gradients down.
///
/// A step is a sequence of moments: forward of row r of R is moment r, the loss moment R, backward of row r moment
/// 2R - r; the image is there from moment -1. Buffers that are not needed at the same moment share bytes
/// (worker/memory_plan.hpp).

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "kernels/cuda/settings.hpp"
#include "kernels/networks/network.hpp"
#include "kernels/worker/memory_plan.hpp"

namespace nocturne::cuda {

/// What a row's backward does with the activation gradient of a row it read.
enum class Handing {
  None,        ///< it read the image
  Write,       ///< it is the first that has one
  Accumulate,  ///< rows above have written theirs
  Share,       ///< Add: the summand's gradient is its own, in the same bytes: nothing to do
};

/// What a normalisation keeps, `channels` floats each: running averages; mean and inverse deviation of the batch, which
/// the backward pass reads; sums of values and of squares, where a fused convolution gives them (fusion_choice.hpp).
enum class StatisticsPart { RunningMean, RunningVariance, Mean, InverseDeviation, Sums, Squares };
inline constexpr std::int64_t kStatisticsParts = 6;

struct RowPlan {
  networks::LayerFigures figures;
  std::int64_t output = 0;                                    ///< offset of its output in the arena, bytes
  std::int64_t activation_gradient = 0;                       ///< offset of that output's gradient
  Handing handing = Handing::None, handing2 = Handing::None;  ///< to source and, for Add, to source2
  std::int64_t statistics = -1;  ///< normalisation: first of 6 · channels floats (StatisticsPart)
};

struct NetworkPlan {
  std::int64_t batch = 0;
  std::vector<RowPlan> rows;
  std::int64_t image = 0;                   ///< offset of the batch as the first row reads it
  std::int64_t bytes = 0;                   ///< size of the arena
  std::int64_t statistics_count = 0;        ///< floats
  std::vector<worker::Lifetime> lifetimes;  ///< lifetimes of all buffers, for reports and tests
};

/// Throws worker::Unsupported naming a row that this worker cannot train.
[[nodiscard]] NetworkPlan plan_network(const networks::Network& network, std::int64_t batch,
                                       std::int64_t bytes_per_value);

/// Every buffer begins at a multiple of it: the second-level cache's line and vector loads fit.
[[nodiscard]] constexpr std::int64_t aligned(std::int64_t bytes) {
  constexpr std::int64_t kAlignment = 256;
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// What a training takes on the GPU, known before there is one.

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
