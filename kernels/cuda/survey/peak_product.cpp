#include "kernels/cuda/survey/peak_product.hpp"

#include "kernels/cuda/cudnn/convolution_algorithms.hpp"
#include "kernels/cuda/plan/algorithm_choice.hpp"
#include "kernels/cuda/survey/peak_launchers.hpp"
#include "kernels/worker/refusal.hpp"

namespace nocturne::cuda {
namespace {

constexpr std::int64_t kImages = 8, kSide = 32, kChannels = 4096;
constexpr std::int64_t kPixels = kImages * kSide * kSide;
constexpr std::int64_t kWorkspaceLimit = std::int64_t{512} << 20;
constexpr networks::Shape kShape{.channels = kChannels, .height = kSide, .width = kSide};

}  // namespace

double PeakProduct::flops() {
  return 2.0 * static_cast<double>(kPixels) * static_cast<double>(kChannels) * static_cast<double>(kChannels);
}

PeakProduct::PeakProduct(Precision precision, const Stream& stream)
    : type_(data_type(precision)),
      stream_(stream),
      input_(tensor_descriptor(kImages, kShape, type_, Layout::Nhwc)),
      output_(tensor_descriptor(kImages, kShape, type_, Layout::Nhwc)),
      input_data_(kPixels * kChannels * bytes_per_value(precision), "the peak's factors"),
      weights_data_(kChannels * kChannels * bytes_per_value(precision), "the peak's factors"),
      output_data_(kPixels * kChannels * bytes_per_value(precision), "the peak's product") {
  check(cudnnSetStream(cudnn_.get(), stream_.get()), "stream");
  check(cudnnSetFilter4dDescriptor(filter_.get(), cudnn_type(type_), CUDNN_TENSOR_NHWC, static_cast<int>(kChannels),
                                   static_cast<int>(kChannels), 1, 1),
        "filter");
  check(
      cudnnSetConvolution2dDescriptor(convolution_.get(), 0, 0, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
      "convolution");
  check(cudnnSetConvolutionMathType(convolution_.get(), math_type(precision)), "convolution");
  const ConvolutionTensors tensors{
      .input = input_.get(), .filter = filter_.get(), .convolution = convolution_.get(), .output = output_.get()};
  const Pass pass{.cudnn = cudnn_.get(), .stream = stream_.get()};
  const auto choice =
      choose(estimated_candidates(pass, Operation::Forward, tensors), Algorithm::Heuristic, kWorkspaceLimit);
  if (!choice) throw worker::Unsupported("cuDNN has no algorithm for a product in " + std::string(to_text(precision)));
  algorithm_ = choice->algorithm;
  workspace_ = DeviceMemory(choice->workspace_bytes, "the peak's workspace");
  const FillRule ones{.centre = 1};
  launch_fill(input_data_.data(), type_, kPixels * kChannels, ones, stream_.get());
  launch_fill(weights_data_.data(), type_, kChannels * kChannels, ones, stream_.get());
}

void PeakProduct::run() {
  check(cudnnConvolutionForward(
            cudnn_.get(), &kOne, input_.get(), input_data_.data(), filter_.get(), weights_data_.data(),
            convolution_.get(), static_cast<cudnnConvolutionFwdAlgo_t>(algorithm_), workspace_.data(),
            static_cast<std::size_t>(workspace_.bytes()), &kZero, output_.get(), output_data_.data()),
        "the peak's product");
}

void PeakProduct::count_wrong(unsigned* wrong) {
  launch_check_equal(output_data_.data(), static_cast<float>(kChannels), type_, kPixels * kChannels, wrong,
                     stream_.get());
}

}  // namespace nocturne::cuda
