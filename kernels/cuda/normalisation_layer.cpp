/// Batch normalisation (Ioffe and Szegedy, ICML 2015, algorithm 1), with the statistics of the batch in f32.

#include <string>
#include <utility>

#include "kernels/cuda/cudnn_objects.hpp"
#include "kernels/cuda/device_layer.hpp"

namespace nocturne::cuda {
namespace {

class NormalisationLayer final : public DeviceLayer {
 public:
  explicit NormalisationLayer(LayerPlace place)
      : place_(std::move(place)),
        name_(place_.layer().name),
        tensor_(tensor_descriptor(place_.batch, place_.plan.figures.input, place_.type(), place_.settings.layout)),
        channels_(channel_descriptor(place_.plan.figures.input.channels, DataType::F32)) {}

  void forward(const Pass& pass) override {
    const cudnnStatus_t status =
        pass.training
            ? cudnnBatchNormalizationForwardTraining(pass.cudnn, kTraining, &kOne, &kZero, tensor_.get(), place_.input,
                                                     tensor_.get(), place_.output, channels_.get(), place_.weights,
                                                     place_.biases, networks::kRunningAverageMomentum, part(0), part(1),
                                                     networks::kNormalisationEpsilon, part(2), part(3))
            : cudnnBatchNormalizationForwardInference(pass.cudnn, CUDNN_BATCHNORM_SPATIAL, &kOne, &kZero, tensor_.get(),
                                                      place_.input, tensor_.get(), place_.output, channels_.get(),
                                                      place_.weights, place_.biases, part(0), part(1),
                                                      networks::kNormalisationEpsilon);
    check(status, name_.c_str());
    if (place_.layer().relu) launch_rectify(place_.output, place_.type(), place_.output_count(), pass.stream);
  }

  void backward(const Pass& pass) override {
    if (place_.layer().relu) {
      launch_gate(place_.difference, place_.output, place_.type(), place_.output_count(), pass.stream);
    }
    const float* before = place_.plan.handing == Handing::Accumulate ? &kOne : &kZero;
    check(cudnnBatchNormalizationBackward(
              pass.cudnn, kTraining, &kOne, before, &kOne, &kZero, tensor_.get(), place_.input, tensor_.get(),
              place_.difference, tensor_.get(), place_.input_difference, channels_.get(), place_.weights,
              place_.weights_gradient, place_.biases_gradient, networks::kNormalisationEpsilon, part(2), part(3)),
          name_.c_str());
  }

 private:
  // One kernel instead of three where cuDNN has it; both passes must name the same.
  static constexpr cudnnBatchNormMode_t kTraining = CUDNN_BATCHNORM_SPATIAL_PERSISTENT;

  // Running mean and variance, then mean and inverse deviation of the batch.
  [[nodiscard]] float* part(std::int64_t which) const {
    return place_.statistics + which * place_.plan.figures.input.channels;
  }

  LayerPlace place_;
  std::string name_;
  TensorDescriptor tensor_, channels_;
};

}  // namespace

std::unique_ptr<DeviceLayer> make_normalisation(const LayerPlace& place) {
  return std::make_unique<NormalisationLayer>(place);
}

}  // namespace nocturne::cuda
