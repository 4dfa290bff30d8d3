#include "kernels/networks/network.hpp"

#include <array>

#include "kernels/networks/mnist_cnn.hpp"
#include "kernels/networks/resnet.hpp"

namespace nocturne::networks {
namespace {

// The one list of all networks.
constexpr std::array kNetworks = {&kMnistCnn, &kResNet50, &kResNet20};

[[noreturn]] void reject(const Layer& layer, const std::string& why) {
  throw std::logic_error("network table: layer " + std::string(layer.name) + ": " + why);
}

std::int64_t slid(const Layer& layer, std::int64_t side) {
  const std::int64_t room = side + 2 * layer.padding - layer.kernel;
  if (room < 0 || layer.stride < 1) reject(layer, "the window does not fit its input");
  return room / layer.stride + 1;
}

// Output and operations of one layer that reads `input`.
LayerFigures figures_of(const Layer& layer, const Shape& input) {
  LayerFigures result{.layer = &layer, .input = input, .output = input};
  switch (layer.kind) {
    case Kind::Convolution:
      result.output = {layer.outputs, slid(layer, input.height), slid(layer, input.width)};
      result.weights = layer.outputs * input.channels * layer.kernel * layer.kernel;
      result.biases = layer.bias ? layer.outputs : 0;
      result.forward_flops = 2 * result.weights * result.output.height * result.output.width;
      break;
    case Kind::Dense:
      result.output = {layer.outputs, 1, 1};
      result.weights = layer.outputs * input.elements();
      result.biases = layer.bias ? layer.outputs : 0;
      result.forward_flops = 2 * result.weights;
      break;
    case Kind::MaxPool:
    case Kind::AveragePool:
      result.output = {input.channels, slid(layer, input.height), slid(layer, input.width)};
      break;
    case Kind::BatchNormalisation:
      result.weights = input.channels;
      result.biases = input.channels;
      break;
    case Kind::Add:
    case Kind::Dropout:
      break;
  }
  if (result.output.elements() < 1) reject(layer, "its output is empty");
  return result;
}

std::int64_t position_of(const Network& network, const Layer& reader, std::string_view name) {
  for (std::size_t i = 0; i < network.layers.size() && &network.layers[i] != &reader; ++i)
    if (network.layers[i].name == name) return static_cast<std::int64_t>(i);
  reject(reader, "there is no layer '" + std::string(name) + "' above it");
}

}  // namespace

std::string_view to_text(Kind kind) {
  switch (kind) {
    case Kind::Convolution:
      return "convolution";
    case Kind::BatchNormalisation:
      return "batch_normalisation";
    case Kind::Add:
      return "add";
    case Kind::MaxPool:
      return "max_pool";
    case Kind::AveragePool:
      return "average_pool";
    case Kind::Dropout:
      return "dropout";
    case Kind::Dense:
      return "dense";
  }
  return "unknown";
}

std::vector<LayerFigures> figures(const Network& network) {
  std::vector<LayerFigures> all;
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const Layer& layer = network.layers[i];
    const auto output_of = [&](std::int64_t row) {
      return row < 0 ? network.image : all[static_cast<std::size_t>(row)].output;
    };
    std::int64_t source = static_cast<std::int64_t>(i) - 1, source2 = -1;
    if (!layer.input.empty()) source = position_of(network, layer, layer.input);
    if (layer.kind == Kind::Add) {
      source2 = position_of(network, layer, layer.input2);
      if (output_of(source) != output_of(source2)) reject(layer, "its summands differ in shape");
    }
    LayerFigures current = figures_of(layer, output_of(source));
    current.source = source;
    current.source2 = source2;
    current.backward_flops = (source < 0 ? 1 : 2) * current.forward_flops;
    all.push_back(current);
  }
  if (all.empty() || all.back().output != Shape{network.classes, 1, 1})
    throw std::logic_error("network table: " + std::string(network.name) + " does not end in its classes");
  return all;
}

const Network& find_network(std::string_view name) {
  std::string known;
  for (const Network* network : kNetworks) {
    known += (known.empty() ? "" : ", ") + std::string(network->name);
    if (network->name != name) continue;
    std::int64_t parameters = 0;
    for (const LayerFigures& layer : figures(*network)) parameters += layer.weights + layer.biases;
    if (parameters != network->parameters) {
      throw std::logic_error("network table: " + std::string(name) + " has " + std::to_string(parameters) +
                             " parameters, its paper says " + std::to_string(network->parameters));
    }
    return *network;
  }
  throw std::out_of_range("unknown network '" + std::string(name) + "', known: " + known);
}

std::vector<std::string_view> network_names() {
  std::vector<std::string_view> names;
  for (const Network* network : kNetworks) names.push_back(network->name);
  return names;
}

}  // namespace nocturne::networks
