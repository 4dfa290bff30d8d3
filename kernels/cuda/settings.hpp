#pragma once

/// The parameters that this worker acts upon itself.
///
///     precision      f32, tf32, bf16, f16      arithmetic of convolutions and dense layers; weights stay f32
///     layout         nchw, nhwc                of activations and weights on the device
///     algorithm      heuristic, find, fixed    who chooses cuDNN's algorithms (algorithm_choice.hpp)
///     workspace_mib  1 …                       most that one operation may take for itself
///     fusion         off, auto                 graphs of cuDNN where they are faster (fusion_choice.hpp)
///     cuda_graphs    true, false               one launch a step instead of one an operation
///     streams        1, 2                      2: batches are gathered and copied while the step before computes
///     batch          1 …
///     data_threads   0 …                       threads that read ahead; 0: batches are made between steps
///     prefetch       1 …                       batches they make ahead

#include <cstdint>
#include <nlohmann/json.hpp>

#include "kernels/cuda/choices.hpp"

namespace nocturne::cuda {

struct Settings {
  Precision precision = Precision::F32;
  Layout layout = Layout::Nchw;
  Algorithm algorithm = Algorithm::Heuristic;
  std::int64_t workspace_mib = 256;
  Fusion fusion = Fusion::Off;
  bool cuda_graphs = false;
  int streams = 1;
  std::int64_t batch = 128;
  int data_threads = 0;
  int prefetch = 2;
};

/// Passes over parameters of other stages and of the launcher. Throws worker::Unsupported with a sentence that names
/// key, value and what is allowed.
[[nodiscard]] Settings read_settings(const nlohmann::json& configuration);

// When a step becomes a CUDA graph.

/// Whether the steps of this batch size and this slot of the feed shall be captured now, after so many that were run
/// operation by operation. The first always is: libraries load their kernels then, which cannot be captured. An epoch's
/// smaller batch comes once an epoch: capturing it would cost more than it gives.
[[nodiscard]] constexpr bool capture_now(const Settings& settings, bool partial, std::int64_t steps_run) {
  return settings.cuda_graphs && !partial && steps_run > 0;
}

}  // namespace nocturne::cuda
