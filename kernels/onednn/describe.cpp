#include "kernels/onednn/describe.hpp"

namespace nocturne::onednn {
namespace {

using networks::Kind;
using networks::LayerFigures;

nlohmann::ordered_json shape(const networks::Shape& shape) {
  return {shape.channels, shape.height, shape.width};
}

nlohmann::ordered_json describe_layer(const LayerFigures& figures) {
  const networks::Layer& layer = *figures.layer;
  nlohmann::ordered_json row = {{"name", layer.name},
                                {"kind", networks::to_text(layer.kind)},
                                {"input", shape(figures.input)},
                                {"output", shape(figures.output)},
                                {"parameters", figures.weights + figures.biases},
                                {"forward_flops", figures.forward_flops},
                                {"backward_flops", figures.backward_flops}};
  if (layer.kind == Kind::Convolution || layer.kind == Kind::MaxPool || layer.kind == Kind::AveragePool) {
    row["kernel"] = layer.kernel;
    row["stride"] = layer.stride;
    row["padding"] = layer.padding;
  }
  if (layer.kind == Kind::Add) row["summands"] = {layer.input, layer.input2};
  if (layer.kind == Kind::Dropout) row["rate"] = layer.rate;
  if (layer.relu) row["activation"] = "relu";
  return row;
}

}  // namespace

nlohmann::ordered_json describe(const networks::Network& network) {
  std::int64_t parameters = 0, forward = 0, backward = 0;
  nlohmann::ordered_json layers = nlohmann::ordered_json::array();
  for (const LayerFigures& figures : networks::figures(network)) {
    parameters += figures.weights + figures.biases;
    forward += figures.forward_flops;
    backward += figures.backward_flops;
    layers.push_back(describe_layer(figures));
  }
  return {{"network", network.name},    {"image", shape(network.image)},
          {"classes", network.classes}, {"loss", "softmax cross-entropy"},
          {"parameters", parameters},   {"forward_flops", forward},
          {"backward_flops", backward}, {"layers", layers}};
}

}  // namespace nocturne::onednn
