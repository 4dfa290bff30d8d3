#pragma once

/// What every operation of a pass over a network is given.

#include <cuda_runtime_api.h>
#include <cudnn.h>

#include <cstdint>

#include "kernels/cuda/device_code/step_state.hpp"

namespace nocturne::cuda {

/// The surroundings of one pass.
struct Pass {
  cudnnHandle_t cudnn = nullptr;  ///< its stream is `stream`
  cudaStream_t stream = nullptr;
  void* workspace = nullptr;
  std::int64_t workspace_bytes = 0;
  StepState* state = nullptr;
  bool training = true;  ///< else running averages, and nothing is dropped
  bool dropout = true;   ///< false: nothing is dropped
};

}  // namespace nocturne::cuda
