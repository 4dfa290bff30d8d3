#include "kernels/cuda/cudnn/convolution_algorithms.hpp"

#include <array>

#include "kernels/cuda/cudnn/cudnn_objects.hpp"

namespace nocturne::cuda {
namespace {

constexpr int kMost = 16;  // cuDNN has at most 8 numbers, some of them twice with other arithmetic

template <typename Performance>
std::vector<Candidate> candidates_of(const std::array<Performance, kMost>& found, int count) {
  std::vector<Candidate> candidates;
  for (int i = 0; i < count; ++i) {
    const Performance& each = found[static_cast<std::size_t>(i)];
    candidates.push_back({.algorithm = static_cast<int>(each.algo),
                          .usable = each.status == CUDNN_STATUS_SUCCESS,
                          .ms = static_cast<double>(each.time),
                          .workspace_bytes = static_cast<std::int64_t>(each.memory)});
  }
  return candidates;
}

}  // namespace

std::vector<Candidate> estimated_candidates(const Pass& pass, Operation operation, const ConvolutionTensors& tensors) {
  int count = 0;
  if (operation == Operation::Forward) {
    std::array<cudnnConvolutionFwdAlgoPerf_t, kMost> found{};
    check(cudnnGetConvolutionForwardAlgorithm_v7(pass.cudnn, tensors.input, tensors.filter, tensors.convolution,
                                                 tensors.output, kMost, &count, found.data()),
          "algorithms");
    return candidates_of(found, count);
  }
  if (operation == Operation::BackwardData) {
    std::array<cudnnConvolutionBwdDataAlgoPerf_t, kMost> found{};
    check(cudnnGetConvolutionBackwardDataAlgorithm_v7(pass.cudnn, tensors.filter, tensors.output, tensors.convolution,
                                                      tensors.input, kMost, &count, found.data()),
          "algorithms");
    return candidates_of(found, count);
  }
  std::array<cudnnConvolutionBwdFilterAlgoPerf_t, kMost> found{};
  check(cudnnGetConvolutionBackwardFilterAlgorithm_v7(pass.cudnn, tensors.input, tensors.output, tensors.convolution,
                                                      tensors.filter, kMost, &count, found.data()),
        "algorithms");
  return candidates_of(found, count);
}

std::vector<Candidate> measured_candidates(const Pass& pass, Operation operation, const ConvolutionTensors& tensors) {
  int count = 0;
  const auto workspace = static_cast<std::size_t>(pass.workspace_bytes);
  if (operation == Operation::Forward) {
    std::array<cudnnConvolutionFwdAlgoPerf_t, kMost> found{};
    check(cudnnFindConvolutionForwardAlgorithmEx(
              pass.cudnn, tensors.input, tensors.input_data, tensors.filter, tensors.weights_data, tensors.convolution,
              tensors.output, tensors.output_data, kMost, &count, found.data(), pass.workspace, workspace),
          "algorithms");
    return candidates_of(found, count);
  }
  if (operation == Operation::BackwardData) {
    std::array<cudnnConvolutionBwdDataAlgoPerf_t, kMost> found{};
    check(cudnnFindConvolutionBackwardDataAlgorithmEx(pass.cudnn, tensors.filter, tensors.weights_data, tensors.output,
                                                      tensors.gradient_data, tensors.convolution, tensors.input,
                                                      tensors.input_gradient_data, kMost, &count, found.data(),
                                                      pass.workspace, workspace),
          "algorithms");
    return candidates_of(found, count);
  }
  std::array<cudnnConvolutionBwdFilterAlgoPerf_t, kMost> found{};
  check(cudnnFindConvolutionBackwardFilterAlgorithmEx(
            pass.cudnn, tensors.input, tensors.input_data, tensors.output, tensors.gradient_data, tensors.convolution,
            tensors.filter, tensors.weights_gradient_data, kMost, &count, found.data(), pass.workspace, workspace),
        "algorithms");
  return candidates_of(found, count);
}

}  // namespace nocturne::cuda
