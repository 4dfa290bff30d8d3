#pragma once

/// One row of a network on the device: what it puts on the stream, forward and backward.
///
/// Every address is fixed when a layer is made, so that a step can be captured once and repeated.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cuda/cudnn/cudnn_objects.hpp"
#include "kernels/cuda/device_code/launchers.hpp"
#include "kernels/cuda/plan/network_plan.hpp"
#include "kernels/cuda/settings.hpp"

namespace nocturne::cuda {

/// Where a layer's tensors lie. Null: the layer has none, or nobody needs it.
struct LayerPlace {
  std::size_t row = 0;
  RowPlan plan;
  std::int64_t batch = 0;
  Settings settings;
  void *input = nullptr, *input2 = nullptr, *output = nullptr;
  void* activation_gradient = nullptr;                         ///< gradient of the output
  void *input_gradient = nullptr, *input_gradient2 = nullptr;  ///< to be written, or added to (Handing)
  /// Convolution, dense: weights and biases in the activations' type. Normalisation: scale and shift in f32.
  void *weights = nullptr, *biases = nullptr;
  void *weights_gradient = nullptr, *biases_gradient = nullptr;
  /// Statistics of a normalisation (StatisticsPart), `channels` floats a part; a convolution without biases has those
  /// of the one that reads it.
  float* statistics = nullptr;
  [[nodiscard]] float* part(StatisticsPart which) const {
    const networks::Shape& normalised =
        layer().kind == networks::Kind::BatchNormalisation ? plan.figures.input : plan.figures.output;
    return statistics + static_cast<std::int64_t>(which) * normalised.channels;
  }
  [[nodiscard]] const networks::Layer& layer() const { return *plan.figures.layer; }
  [[nodiscard]] DataType type() const { return data_type(settings.precision); }
  [[nodiscard]] std::int64_t input_count() const { return batch * plan.figures.input.elements(); }
  [[nodiscard]] std::int64_t output_count() const { return batch * plan.figures.output.elements(); }
};

/// How a shape's values lie, for the launchers.
[[nodiscard]] inline ChannelOrder channel_order(const networks::Shape& shape, Layout layout) {
  return {.channels = shape.channels, .pixels = shape.height * shape.width, .layout = layout};
}

/// The first step of a backward pass: what the layer's rectifier held back, if it has one, has no activation gradient.
inline void gate_gradient(const LayerPlace& place, cudaStream_t stream) {
  if (!place.layer().relu) return;
  launch_gate(place.activation_gradient, place.output, place.type(), place.output_count(), stream);
}

/// What serves an operation, for `ready`.
struct Implementation {
  std::string layer, primitive, name;
  std::int64_t workspace_bytes = 0;
};

class DeviceLayer {
 public:
  DeviceLayer() = default;
  DeviceLayer(const DeviceLayer&) = delete;
  DeviceLayer& operator=(const DeviceLayer&) = delete;
  virtual ~DeviceLayer() = default;
  virtual void forward(const Pass& pass) = 0;
  /// Reads and spoils the output's gradient. REQUIRES: the forward pass of the same batch came before.
  virtual void backward(const Pass& pass) = 0;
  /// Chooses algorithms; may run some of them on whatever lies there. Throws worker::Unsupported where none will do.
  virtual void choose(const Pass& /*pass*/) {}
  /// Makes a graph that fuses its forward pass (fusion_choice.hpp). Throws worker::Unsupported where cuDNN has none, or
  /// none within the workspace.
  virtual void prepare_fusion(const Pass& /*pass*/) {}
  /// Whether forward() in a training uses it from now on. REQUIRES: it was prepared.
  virtual void use_fusion(bool /*fused*/) {}
  /// Gives the graph back.
  virtual void drop_fusion() {}
  /// Most that one of its operations needs.
  [[nodiscard]] virtual std::int64_t workspace_bytes() const { return 0; }
  [[nodiscard]] virtual std::vector<Implementation> implementations() const { return {}; }
};

[[nodiscard]] std::unique_ptr<DeviceLayer> make_weighted(const LayerPlace& place);  ///< convolution, dense
[[nodiscard]] std::unique_ptr<DeviceLayer> make_normalisation(const LayerPlace& place);
[[nodiscard]] std::unique_ptr<DeviceLayer> make_pooling(const LayerPlace& place);  ///< largest, average
[[nodiscard]] std::unique_ptr<DeviceLayer> make_addition(const LayerPlace& place);
[[nodiscard]] std::unique_ptr<DeviceLayer> make_dropout(const LayerPlace& place);

[[nodiscard]] std::unique_ptr<DeviceLayer> make_layer(const LayerPlace& place);

}  // namespace nocturne::cuda
