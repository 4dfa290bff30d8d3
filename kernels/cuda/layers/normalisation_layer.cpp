/// Batch normalisation (Ioffe and Szegedy, ICML 2015, algorithm 1), with the statistics of the batch in f32.

#include <string>

#include "kernels/cuda/cudnn/cudnn_objects.hpp"
#include "kernels/cuda/layers/device_layer.hpp"

namespace nocturne::cuda {
namespace {

class NormalisationLayer final : public DeviceLayer {
 public:
  explicit NormalisationLayer(const LayerPlace& place)
      : place_(place),
        name_(place_.layer().name),
        tensor_(tensor_descriptor(place_.batch, place_.plan.figures.input, place_.type(), place_.settings.layout)),
        channels_(channel_descriptor(place_.plan.figures.input.channels, DataType::F32)) {}

  void use_fusion(bool fused) override { fused_ = fused; }

  void forward(const Pass& pass) override {
    if (fused_ && pass.training) {
      forward_from_sums(pass);
      return;
    }
    const cudnnStatus_t status =
        pass.training ? cudnnBatchNormalizationForwardTraining(
                            pass.cudnn, kTraining, &kOne, &kZero, tensor_.get(), place_.input, tensor_.get(),
                            place_.output, channels_.get(), place_.weights, place_.biases,
                            networks::kRunningAverageMomentum, place_.part(StatisticsPart::RunningMean),
                            place_.part(StatisticsPart::RunningVariance), networks::kNormalisationEpsilon,
                            place_.part(StatisticsPart::Mean), place_.part(StatisticsPart::InverseDeviation))
                      : cudnnBatchNormalizationForwardInference(
                            pass.cudnn, CUDNN_BATCHNORM_SPATIAL, &kOne, &kZero, tensor_.get(), place_.input,
                            tensor_.get(), place_.output, channels_.get(), place_.weights, place_.biases,
                            place_.part(StatisticsPart::RunningMean), place_.part(StatisticsPart::RunningVariance),
                            networks::kNormalisationEpsilon);
    check(status, name_.c_str());
    if (place_.layer().relu) launch_rectify(place_.output, place_.type(), place_.output_count(), pass.stream);
  }

  void backward(const Pass& pass) override {
    gate_gradient(place_, pass.stream);
    const float* before = place_.plan.handing == Handing::Accumulate ? &kOne : &kZero;
    check(cudnnBatchNormalizationBackward(
              pass.cudnn, kTraining, &kOne, before, &kOne, &kZero, tensor_.get(), place_.input, tensor_.get(),
              place_.activation_gradient, tensor_.get(), place_.input_gradient, channels_.get(), place_.weights,
              place_.weights_gradient, place_.biases_gradient, networks::kNormalisationEpsilon,
              place_.part(StatisticsPart::Mean), place_.part(StatisticsPart::InverseDeviation)),
          name_.c_str());
  }

 private:
  // One kernel instead of three where cuDNN has it; both passes must name the same.
  static constexpr cudnnBatchNormMode_t kTraining = CUDNN_BATCHNORM_SPATIAL_PERSISTENT;

  // The convolution before summed its output up while it wrote it.
  void forward_from_sums(const Pass& pass) const {
    const networks::Shape& shape = place_.plan.figures.input;
    const NormalisationArrays arrays{.sums = place_.part(StatisticsPart::Sums),
                                     .squares = place_.part(StatisticsPart::Squares),
                                     .running_mean = place_.part(StatisticsPart::RunningMean),
                                     .running_variance = place_.part(StatisticsPart::RunningVariance),
                                     .mean = place_.part(StatisticsPart::Mean),
                                     .inverse_deviation = place_.part(StatisticsPart::InverseDeviation),
                                     .scale = static_cast<const float*>(place_.weights),
                                     .shift = static_cast<const float*>(place_.biases),
                                     .channels = shape.channels,
                                     .per_channel = place_.batch * shape.height * shape.width};
    launch_finish_statistics(arrays, static_cast<float>(networks::kNormalisationEpsilon),
                             static_cast<float>(networks::kRunningAverageMomentum), pass.stream);
    launch_normalise(place_.input, place_.output, arrays, place_.type(), place_.output_count(),
                     channel_order(shape, place_.settings.layout), place_.layer().relu, pass.stream);
  }

  LayerPlace place_;
  std::string name_;
  TensorDescriptor tensor_, channels_;
  bool fused_ = false;
};

}  // namespace

std::unique_ptr<DeviceLayer> make_normalisation(const LayerPlace& place) {
  return std::make_unique<NormalisationLayer>(place);
}

}  // namespace nocturne::cuda
