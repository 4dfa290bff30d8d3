/// Largest and average of a window.

#include <string>

#include "kernels/cuda/cudnn/cudnn_objects.hpp"
#include "kernels/cuda/layers/device_layer.hpp"

namespace nocturne::cuda {
namespace {

PoolingDescriptor pooling_descriptor(const networks::Layer& layer) {
  const auto side = static_cast<int>(layer.kernel), padding = static_cast<int>(layer.padding),
             stride = static_cast<int>(layer.stride);
  // The average divides by the whole window, padding included, as the table says.
  const cudnnPoolingMode_t mode = layer.kind == networks::Kind::MaxPool ? CUDNN_POOLING_MAX_DETERMINISTIC
                                                                        : CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING;
  PoolingDescriptor descriptor;
  check(cudnnSetPooling2dDescriptor(descriptor.get(), mode, CUDNN_PROPAGATE_NAN, side, side, padding, padding, stride,
                                    stride),
        "pooling");
  return descriptor;
}

class PoolingLayer final : public DeviceLayer {
 public:
  explicit PoolingLayer(const LayerPlace& place)
      : place_(place),
        name_(place_.layer().name),
        input_(tensor_descriptor(place_.batch, place_.plan.figures.input, place_.type(), place_.settings.layout)),
        output_(tensor_descriptor(place_.batch, place_.plan.figures.output, place_.type(), place_.settings.layout)),
        pooling_(pooling_descriptor(place_.layer())) {}

  void forward(const Pass& pass) override {
    check(cudnnPoolingForward(pass.cudnn, pooling_.get(), &kOne, input_.get(), place_.input, &kZero, output_.get(),
                              place_.output),
          name_.c_str());
    if (place_.layer().relu) launch_rectify(place_.output, place_.type(), place_.output_count(), pass.stream);
  }

  void backward(const Pass& pass) override {
    gate_gradient(place_, pass.stream);
    if (place_.input_gradient == nullptr) return;
    const float* before = place_.plan.handing == Handing::Accumulate ? &kOne : &kZero;
    check(cudnnPoolingBackward(pass.cudnn, pooling_.get(), &kOne, output_.get(), place_.output, output_.get(),
                               place_.activation_gradient, input_.get(), place_.input, before, input_.get(),
                               place_.input_gradient),
          name_.c_str());
  }

 private:
  LayerPlace place_;
  std::string name_;
  TensorDescriptor input_, output_;
  PoolingDescriptor pooling_;
};

}  // namespace

std::unique_ptr<DeviceLayer> make_pooling(const LayerPlace& place) {
  return std::make_unique<PoolingLayer>(place);
}

}  // namespace nocturne::cuda
