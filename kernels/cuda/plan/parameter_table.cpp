#include "kernels/cuda/plan/parameter_table.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <stdexcept>

#include "kernels/data/counter_random.hpp"

namespace nocturne::cuda {
namespace {

using networks::Kind;

// 128 bytes of 16-bit values: every tensor begins where vector loads may.
std::int64_t padded(std::int64_t count) {
  constexpr std::int64_t kGrain = 64;
  return (count + kGrain - 1) / kGrain * kGrain;
}

void add(ParameterTable& table, ParameterTensor tensor) {
  tensor.count = std::accumulate(tensor.shape.begin(), tensor.shape.end(), std::int64_t{1}, std::multiplies<>());
  table.tensors.push_back(std::move(tensor));
}

void add_weighted(ParameterTable& table, const networks::LayerFigures& figures, std::size_t row) {
  const networks::Layer& layer = *figures.layer;
  const networks::Shape& input = figures.input;
  const std::string name(layer.name);
  ParameterTensor weights{.name = name + ".weights", .row = row};
  if (layer.kind == Kind::Convolution) {
    const std::int64_t window = layer.kernel * layer.kernel;
    weights.shape = {layer.outputs, input.channels, layer.kernel, layer.kernel};
    weights.fan_in = input.channels * window;
    // Without biases a normalisation follows, and the size of what goes in is all that counts.
    weights.fan_out = layer.bias ? layer.outputs * window : 0;
  } else {
    weights.shape = {layer.outputs, input.channels};
    if (input.height * input.width > 1) weights.shape = {layer.outputs, input.channels, input.height, input.width};
    weights.fan_in = input.elements();
    weights.fan_out = layer.outputs;
  }
  add(table, std::move(weights));
  if (layer.bias)
    add(table, {.name = name + ".biases", .shape = {layer.outputs}, .row = row, .section = Section::Biases});
}

// (O, C, H, W); shapes of two sides have windows of one pixel.
struct Sides {
  std::int64_t outputs = 1, channels = 1, pixels = 1;
};

Sides sides_of(const ParameterTensor& tensor) {
  const auto& shape = tensor.shape;
  if (shape.size() < 4) return {shape[0], shape.size() > 1 ? shape[1] : 1, 1};
  return {shape[0], shape[1], shape[2] * shape[3]};
}

}  // namespace

const ParameterTensor* ParameterTable::of_row(std::size_t row, bool first) const {
  const auto wanted = [&](const ParameterTensor& each) {
    const bool leads = each.section == Section::Weights || each.constant != 0;
    return each.row == row && leads == first;
  };
  const auto found = std::find_if(tensors.begin(), tensors.end(), wanted);
  return found == tensors.end() ? nullptr : &*found;
}

ParameterTable parameter_table(const networks::Network& network) {
  ParameterTable table;
  const std::vector<networks::LayerFigures> rows = networks::figures(network);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const networks::Layer& layer = *rows[row].layer;
    if (layer.kind == Kind::Convolution || layer.kind == Kind::Dense) {
      add_weighted(table, rows[row], row);
    } else if (layer.kind == Kind::BatchNormalisation) {
      const std::string name(layer.name);
      const std::int64_t channels = rows[row].input.channels;
      add(table, {.name = name + ".scale",
                  .shape = {channels},
                  .row = row,
                  .constant = 1.0F,
                  .section = Section::Normalisation});
      add(table, {.name = name + ".shift", .shape = {channels}, .row = row, .section = Section::Normalisation});
    }
  }
  for (const Section section : {Section::Weights, Section::Biases, Section::Normalisation}) {
    ParameterRange& range = table.sections[static_cast<std::size_t>(section)];
    range.begin = table.count;
    for (ParameterTensor& tensor : table.tensors) {
      if (tensor.section != section) continue;
      tensor.offset = table.count;
      table.count += padded(tensor.count);
    }
    range.end = table.count;
  }
  return table;
}

std::vector<float> initial_values(const ParameterTable& table, std::size_t tensor, std::uint64_t seed) {
  const ParameterTensor& wanted = table.tensors[tensor];
  std::vector<float> values(static_cast<std::size_t>(wanted.count), wanted.constant);
  if (wanted.fan_in + wanted.fan_out == 0) return values;
  const float limit = std::sqrt(6.0F / static_cast<float>(wanted.fan_in + wanted.fan_out));
  const std::uint64_t key = data::key_of(seed, 0x1417, tensor);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = (2.0F * data::uniform(key, i) - 1.0F) * limit;
  return values;
}

const std::vector<float>& values_of(const protocol::InitialState& state, const ParameterTensor& tensor) {
  const auto found = std::find_if(state.tensors.begin(), state.tensors.end(),
                                  [&](const protocol::InitialTensor& each) { return each.name == tensor.name; });
  if (found == state.tensors.end()) throw std::runtime_error("initial state: there is no tensor " + tensor.name);
  if (found->shape != tensor.shape)
    throw std::runtime_error("initial state: tensor " + tensor.name + " has another shape than the network's");
  return found->values;
}

void check_state(const protocol::InitialState& state, const networks::Network& network, const ParameterTable& table) {
  const std::string name(network.name);
  if (state.network != name)
    throw std::runtime_error("initial state: it is of network '" + state.network + "', not of " + name);
  for (const ParameterTensor& tensor : table.tensors) static_cast<void>(values_of(state, tensor));
  if (state.tensors.size() != table.tensors.size())
    throw std::runtime_error("initial state: it has more tensors than network " + name);
}

std::vector<float> to_device_order(const ParameterTensor& tensor, Layout layout, const std::vector<float>& values) {
  const Sides sides = sides_of(tensor);
  if (layout == Layout::Nchw || sides.pixels == 1) return values;
  std::vector<float> moved(values.size());
  std::size_t to = 0;
  for (std::int64_t o = 0; o < sides.outputs; ++o) {
    for (std::int64_t p = 0; p < sides.pixels; ++p)
      for (std::int64_t c = 0; c < sides.channels; ++c)
        moved[to++] = values[static_cast<std::size_t>((o * sides.channels + c) * sides.pixels + p)];
  }
  return moved;
}

std::vector<float> from_device_order(const ParameterTensor& tensor, Layout layout, const std::vector<float>& values) {
  const Sides sides = sides_of(tensor);
  if (layout == Layout::Nchw || sides.pixels == 1) return values;
  std::vector<float> moved(values.size());
  std::size_t from = 0;
  for (std::int64_t o = 0; o < sides.outputs; ++o) {
    for (std::int64_t p = 0; p < sides.pixels; ++p)
      for (std::int64_t c = 0; c < sides.channels; ++c)
        moved[static_cast<std::size_t>((o * sides.channels + c) * sides.pixels + p)] = values[from++];
  }
  return moved;
}

}  // namespace nocturne::cuda
