/// What cuDNN's graphs compute, in place of kernels/cuda/cudnn/fused_convolution.cpp. That a graph is described to
/// cuDNN rightly is not simulated: cuDNN alone can say so.

#include "kernels/cuda/cudnn/fused_convolution.hpp"
#include "kernels/worker/refusal.hpp"
#include "tests/kernels/cuda/simulated_gpu/descriptors.hpp"
#include "tests/kernels/cuda/simulated_gpu/simulated_streams.hpp"

namespace nocturne::cuda {

using simulated::Tensor;
using simulated::Values;

struct FusedConvolution::Plan {
  FusedShape shape;
  FusedPlaces places;
  std::string name = "simulated";

  [[nodiscard]] Tensor tensor(const simulated::Sizes& sizes) const {
    cudnnDataType_t type = CUDNN_DATA_FLOAT;
    if (shape.precision == Precision::Bf16) type = CUDNN_DATA_BFLOAT16;
    if (shape.precision == Precision::F16) type = CUDNN_DATA_HALF;
    return {.sizes = sizes, .type = type, .channels_last = shape.layout == Layout::Nhwc};
  }

  void compute() const {
    const simulated::Convolution convolution{
        .input = {shape.batch, shape.input.channels, shape.input.height, shape.input.width},
        .filter = {shape.output.channels, shape.input.channels, shape.kernel, shape.kernel},
        .output = {shape.batch, shape.output.channels, shape.output.height, shape.output.width},
        .stride = shape.stride,
        .padding = shape.padding};
    const simulated::Sizes channels{1, shape.output.channels, 1, 1};
    Values input = read(tensor(convolution.input), places.input);
    Values weights = read(tensor(convolution.filter), places.weights);
    if (shape.precision == Precision::Tf32) {
      simulated::round_to_tf32(input);
      simulated::round_to_tf32(weights);
    }
    Values values = convolve(convolution, input, weights);
    if (places.biases != nullptr) {
      const Values ones(static_cast<std::size_t>(channels.c), 1.0F), none(ones.size(), 0.0F);
      values = normalise(convolution.output, values, none, ones, ones, read(tensor(channels), places.biases));
    }
    if (shape.relu)
      for (float& each : values) each = each < 0.0F ? 0.0F : each;
    if (places.sums != nullptr) {
      write(Tensor{.sizes = channels}, places.sums, channel_sums(convolution.output, values), 0);
      write(Tensor{.sizes = channels}, places.squares, channel_squares(convolution.output, values), 0);
    }
    write(tensor(convolution.output), places.output, values, 0);
  }
};

bool can_fuse() {
  return true;
}

FusedConvolution::FusedConvolution(const FusedShape& shape, const FusedPlaces& places, cudnnHandle_t)
    : plan_(std::make_unique<Plan>(Plan{.shape = shape, .places = places})) {
  if (shape.kernel == 1 && shape.stride > 1) throw worker::Unsupported("the simulated GPU has no graph for it");
}

FusedConvolution::~FusedConvolution() = default;

void FusedConvolution::run(cudnnHandle_t cudnn, void*) const {
  simulated::enqueue(cudnn->stream, [plan = *plan_] { plan.compute(); });
}

std::int64_t FusedConvolution::workspace_bytes() const {
  return 0;
}

const std::string& FusedConvolution::name() const {
  return plan_->name;
}

}  // namespace nocturne::cuda
