#pragma once

/// Asks cuDNN which algorithms it has for a convolution. Who takes which is decided elsewhere (algorithm_choice.hpp).

#include <cudnn.h>

#include <vector>

#include "kernels/cuda/cudnn/cudnn_objects.hpp"
#include "kernels/cuda/plan/algorithm_choice.hpp"

namespace nocturne::cuda {

struct ConvolutionTensors {
  cudnnTensorDescriptor_t input = nullptr;
  cudnnFilterDescriptor_t filter = nullptr;
  cudnnConvolutionDescriptor_t convolution = nullptr;
  cudnnTensorDescriptor_t output = nullptr;
  void *input_data = nullptr, *weights_data = nullptr, *output_data = nullptr;
  void *gradient_data = nullptr, *input_gradient_data = nullptr, *weights_gradient_data = nullptr;
};

/// In cuDNN's order of preference, with its estimates; nothing is run.
[[nodiscard]] std::vector<Candidate> estimated_candidates(const Pass& pass, Operation operation,
                                                          const ConvolutionTensors& tensors);
/// Runs each on the tensors, whose contents are lost, with the pass's workspace; the fastest first.
[[nodiscard]] std::vector<Candidate> measured_candidates(const Pass& pass, Operation operation,
                                                         const ConvolutionTensors& tensors);

}  // namespace nocturne::cuda
