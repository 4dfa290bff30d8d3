#pragma once

/// A convolution and what follows it as one of cuDNN's graphs, described through cudnn-frontend: with a bias, a
/// rectifier, both, or the statistics of its output.
///
/// Two sources have what stands here: fused_convolution.cpp, and no_fused_convolution.cpp for a build without
/// cudnn-frontend.

#include <cudnn.h>

#include <cstdint>
#include <memory>
#include <string>

#include "kernels/cuda/choices.hpp"
#include "kernels/networks/network.hpp"

namespace nocturne::cuda {

/// Whether this build has cudnn-frontend.
[[nodiscard]] bool can_fuse();

struct FusedShape {
  Precision precision = Precision::F32;  ///< f32: no tensor cores
  Layout layout = Layout::Nchw;
  std::int64_t batch = 1;
  networks::Shape input, output;
  std::int64_t kernel = 1, stride = 1, padding = 0;
  bool relu = false;
  std::int64_t workspace_limit_bytes = 0;
};

/// On the device; null where it has no part in it. `sums` and `squares`: output channels, f32; both or neither.
struct FusedPlaces {
  void *input = nullptr, *weights = nullptr, *biases = nullptr, *output = nullptr;
  float *sums = nullptr, *squares = nullptr;
};

class FusedConvolution {
 public:
  /// Lets cuDNN find and compile a plan. Throws worker::Unsupported with cuDNN's words where it has none for this
  /// shape, or none within the workspace.
  FusedConvolution(const FusedShape& shape, const FusedPlaces& places, cudnnHandle_t cudnn);
  FusedConvolution(const FusedConvolution&) = delete;
  FusedConvolution& operator=(const FusedConvolution&) = delete;
  ~FusedConvolution();

  /// Puts it on the handle's stream. Throws CudaError.
  void run(cudnnHandle_t cudnn, void* workspace) const;
  [[nodiscard]] std::int64_t workspace_bytes() const;
  /// What cuDNN calls its plan.
  [[nodiscard]] const std::string& name() const;

 private:
  struct Plan;
  std::unique_ptr<Plan> plan_;
};

}  // namespace nocturne::cuda
