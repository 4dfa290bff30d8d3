#pragma once

/// What cuDNN's handles and descriptors hold on the simulated GPU, and what all its operations ask of what they are
/// given.

#include <cudnn.h>

#include "tests/kernels/cuda/simulated_gpu/operations.hpp"
#include "tests/kernels/cuda/simulated_gpu/simulated_memory.hpp"

struct cudnnContext {
  cudaStream_t stream = nullptr;
};
struct cudnnTensorStruct {
  nocturne::simulated::Tensor tensor;
};
struct cudnnFilterStruct {
  nocturne::simulated::Tensor tensor;
};
struct cudnnConvolutionStruct {
  int padding = 0, stride = 1;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
};
struct cudnnPoolingStruct {
  nocturne::simulated::Window window;
  bool largest = true;
};

namespace nocturne::simulated {

/// The factors that a result, and what was there before, are multiplied with.
inline float factor(const void* value) {
  return *static_cast<const float*>(value);
}
inline void demand_one(const void* alpha) {
  if (factor(alpha) != 1) fail("results are never multiplied by anything but one here");
}

/// One float of each channel.
inline Tensor per_channel(const Tensor& tensor) {
  return {.sizes = {1, tensor.sizes.c, 1, 1}};
}

}  // namespace nocturne::simulated
