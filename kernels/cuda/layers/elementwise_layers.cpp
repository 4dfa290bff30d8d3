/// Sums and dropout: layers made of the worker's own kernels alone.

#include <cmath>

#include "kernels/cuda/device/check.hpp"
#include "kernels/cuda/layers/device_layer.hpp"

namespace nocturne::cuda {
namespace {

class AdditionLayer final : public DeviceLayer {
 public:
  explicit AdditionLayer(const LayerPlace& place) : place_(place) {}

  void forward(const Pass& pass) override {
    launch_add(place_.output, place_.input, place_.input2, place_.type(), place_.output_count(), place_.layer().relu,
               pass.stream);
  }

  void backward(const Pass& pass) override {
    gate_gradient(place_, pass.stream);
    hand(place_.plan.handing, place_.input_gradient, pass);
    hand(place_.plan.handing2, place_.input_gradient2, pass);
  }

 private:
  void hand(Handing how, void* to, const Pass& pass) const {
    if (how == Handing::Accumulate) {
      launch_accumulate(to, place_.activation_gradient, place_.type(), place_.output_count(), pass.stream);
    } else if (how == Handing::Write) {
      const std::int64_t bytes = place_.output_count() * bytes_per_value(place_.settings.precision);
      check(cudaMemcpyAsync(to, place_.activation_gradient, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToDevice,
                            pass.stream),
            "addition");
    }
  }

  LayerPlace place_;
};

class DropoutLayer final : public DeviceLayer {
 public:
  explicit DropoutLayer(const LayerPlace& place)
      : place_(place), dropped_(static_cast<std::uint32_t>(std::lround(place_.layer().rate * 256))) {}

  void forward(const Pass& pass) override {
    launch_dropout(place_.input, place_.output, place_.type(), place_.output_count(), rule(pass, false), pass.state,
                   pass.stream);
  }

  void backward(const Pass& pass) override {
    if (place_.input_gradient == nullptr) return;
    launch_dropout(place_.activation_gradient, place_.input_gradient, place_.type(), place_.output_count(),
                   rule(pass, place_.plan.handing == Handing::Accumulate), pass.state, pass.stream);
  }

 private:
  [[nodiscard]] DropoutRule rule(const Pass& pass, bool accumulate) const {
    const std::uint32_t dropped = pass.training && pass.dropout ? dropped_ : 0;
    return {.row = place_.row,
            .dropped = dropped,
            .scale = 256.0F / (256.0F - static_cast<float>(dropped)),
            .accumulate = accumulate};
  }

  LayerPlace place_;
  std::uint32_t dropped_;  // of 256: rates are multiples of 1/256, a quarter and a half are exact
};

}  // namespace

std::unique_ptr<DeviceLayer> make_addition(const LayerPlace& place) {
  return std::make_unique<AdditionLayer>(place);
}

std::unique_ptr<DeviceLayer> make_dropout(const LayerPlace& place) {
  return std::make_unique<DropoutLayer>(place);
}

}  // namespace nocturne::cuda
