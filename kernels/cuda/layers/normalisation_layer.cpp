/// Batch normalisation (Ioffe and Szegedy, ICML 2015, algorithm 1), with the statistics of the batch in f32.

#include <memory>

#include "kernels/cuda/layers/device_layer.hpp"

namespace nocturne::cuda {
namespace {

class NormalisationLayer final : public DeviceLayer {
 public:
  explicit NormalisationLayer(const LayerPlace& place)
      : place_(place), order_(channel_order(place.plan.figures.input, place.settings.layout)) {}

  void use_fusion(bool fused) override { fused_ = fused; }

  [[nodiscard]] std::int64_t workspace_bytes() const override {
    return channel_sums_bytes(place_.output_count(), order_);
  }

  void forward(const Pass& pass) override {
    const NormalisationArrays all = arrays();
    if (!pass.training) {
      launch_running_statistics(all, kRule.epsilon, pass.stream);
    } else if (fused_) {  // the convolution before summed its output up while it wrote it
      launch_finish_statistics(all, kRule, pass.stream);
    } else {
      launch_batch_statistics(place_.input, static_cast<float*>(pass.workspace), place_.type(), place_.output_count(),
                              order_, all, kRule, pass.stream);
    }
    launch_normalise(place_.input, place_.output, all, place_.type(), place_.output_count(), order_,
                     place_.layer().relu, pass.stream);
  }

  void backward(const Pass& pass) override {
    launch_normalise_backward({.in = place_.input,
                               .dy = place_.activation_gradient,
                               .dx = place_.input_gradient,
                               .relu = place_.layer().relu,
                               .accumulate = place_.plan.handing == Handing::Accumulate,
                               .scale = static_cast<float*>(place_.weights_gradient),
                               .shift = static_cast<float*>(place_.biases_gradient)},
                              static_cast<float*>(pass.workspace), arrays(), place_.type(), place_.output_count(),
                              order_, pass.stream);
  }

 private:
  static constexpr NormalisationRule kRule{.epsilon = static_cast<float>(networks::kNormalisationEpsilon),
                                           .momentum = static_cast<float>(networks::kRunningAverageMomentum)};

  [[nodiscard]] NormalisationArrays arrays() const {
    return {.sums = place_.part(StatisticsPart::Sums),
            .squares = place_.part(StatisticsPart::Squares),
            .running_mean = place_.part(StatisticsPart::RunningMean),
            .running_variance = place_.part(StatisticsPart::RunningVariance),
            .mean = place_.part(StatisticsPart::Mean),
            .inverse_deviation = place_.part(StatisticsPart::InverseDeviation),
            .scale = static_cast<const float*>(place_.weights),
            .shift = static_cast<const float*>(place_.biases),
            .channels = order_.channels,
            .per_channel = place_.batch * order_.pixels};
  }

  LayerPlace place_;
  ChannelOrder order_;
  bool fused_ = false;
};

}  // namespace

std::unique_ptr<DeviceLayer> make_normalisation(const LayerPlace& place) {
  return std::make_unique<NormalisationLayer>(place);
}

}  // namespace nocturne::cuda
