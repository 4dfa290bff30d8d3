#pragma once

/// What the device knows of the training while steps follow each other without the host: plain data, copied out when a
/// sample ends.

#include <cstdint>

#include "kernels/cuda/device_code/loss_scaling.hpp"

namespace nocturne::cuda {

struct StepState {
  std::uint64_t seed = 1;
  std::int64_t step = 0;          ///< steps done
  std::uint64_t dropout_key = 0;  ///< key of the step that runs
  LossScale loss_scale;
  int overflow = 0;                 ///< 1: a gradient of this step is not finite, nothing is updated
  std::int64_t skipped = 0;         ///< steps so far that were not applied
  float loss = 0;                   ///< mean over the last step's batch
  double loss_sum = 0;              ///< over all images of all steps
  std::int64_t not_finite_at = -1;  ///< first step whose loss is not finite
};

}  // namespace nocturne::cuda
