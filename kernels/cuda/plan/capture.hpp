#pragma once

/// When a step becomes a CUDA graph.

#include <cstdint>

#include "kernels/cuda/settings.hpp"

namespace nocturne::cuda {

/// Whether the steps of this batch size and this slot of the feed shall be captured now, after so many that were run
/// operation by operation. The first always is: libraries load their kernels then, which cannot be captured. An epoch's
/// smaller batch comes once an epoch: capturing it would cost more than it gives.
[[nodiscard]] constexpr bool capture_now(const Settings& settings, bool partial, std::int64_t steps_run) {
  return settings.cuda_graphs && !partial && steps_run > 0;
}

}  // namespace nocturne::cuda
