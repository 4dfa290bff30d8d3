#include "kernels/onednn/check/reference.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "kernels/onednn/check/reference_loops.hpp"

namespace nocturne::onednn {
namespace {

using networks::Kind;

void clear(Values& values) {
  std::fill(values.begin(), values.end(), 0.0);
}

void add(Values& sum, const Values& other) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += other[i];
}

}  // namespace

ReferenceNetwork::ReferenceNetwork(const networks::Network& network, std::int64_t batch)
    : batch_(batch), classes_(network.classes) {
  image.resize(static_cast<std::size_t>(batch * network.image.elements()));
  image_gradient.resize(image.size());
  labels.resize(static_cast<std::size_t>(batch));
  for (const networks::LayerFigures& figures : networks::figures(network)) {
    const Kind kind = figures.layer->kind;
    ReferenceLayer layer;
    layer.figures = figures;
    const auto outputs = static_cast<std::size_t>(batch * figures.output.elements());
    layer.output.resize(outputs);
    layer.activation_gradient.resize(outputs);
    layer.input_gradient.resize(static_cast<std::size_t>(batch * figures.input.elements()));
    layer.weights.resize(static_cast<std::size_t>(figures.weights));
    layer.biases.resize(static_cast<std::size_t>(figures.biases));
    layer.weights_gradient.resize(layer.weights.size());
    layer.biases_gradient.resize(layer.biases.size());
    if (figures.layer->relu) layer.open.resize(outputs);
    if (kind == Kind::MaxPool) layer.winner.resize(outputs);
    if (kind == Kind::Dropout) layer.factor.assign(outputs, 1.0);
    if (kind == Kind::BatchNormalisation) {
      layer.mean.resize(static_cast<std::size_t>(figures.output.channels));
      layer.deviation.resize(layer.mean.size());
    }
    layers.push_back(std::move(layer));
  }
}

double ReferenceNetwork::forward(bool decide, std::size_t first) {
  for (std::size_t row = first; row < layers.size(); ++row) forward_row(row, decide);
  return loss();
}

void ReferenceNetwork::forward_row(std::size_t row, bool decide) {
  ReferenceLayer& layer = layers[row];
  const Values& source = tensor(layer.figures.source);
  switch (layer.figures.layer->kind) {
    case Kind::Convolution:
      reference_convolution(layer, source, batch_);
      break;
    case Kind::Dense:
      reference_dense(layer, source, batch_);
      break;
    case Kind::MaxPool:
      reference_max_pool(layer, source, batch_, decide);
      break;
    case Kind::AveragePool:
      reference_average_pool(layer, source, batch_);
      break;
    case Kind::BatchNormalisation:
      reference_normalisation(layer, source, batch_);
      break;
    case Kind::Add:
      layer.output = source;
      add(layer.output, tensor(layer.figures.source2));
      break;
    case Kind::Dropout:
      for (std::size_t i = 0; i < source.size(); ++i) layer.output[i] = source[i] * layer.factor[i];
      break;
  }
  for (std::size_t i = 0; i < layer.open.size(); ++i) {
    if (decide) layer.open[i] = layer.output[i] > 0 ? 1 : 0;
    if (layer.open[i] == 0) layer.output[i] = 0;
  }
}

double ReferenceNetwork::loss() {
  double total = 0;
  const Values& logits = layers.back().output;
  Values& activation_gradient = layers.back().activation_gradient;
  const auto classes = static_cast<std::size_t>(classes_);
  for (std::size_t n = 0; n < labels.size(); ++n) {
    const double* row = logits.data() + n * classes;
    const auto label = static_cast<std::size_t>(labels[n]);
    const double largest = *std::max_element(row, row + classes);
    double sum = 0;
    for (std::size_t i = 0; i < classes; ++i) sum += std::exp(row[i] - largest);
    total += std::log(sum) + largest - row[label];
    for (std::size_t i = 0; i < classes; ++i) {
      const double probability = std::exp(row[i] - largest) / sum;
      activation_gradient[n * classes + i] = (probability - (i == label ? 1 : 0)) / static_cast<double>(batch_);
    }
  }
  return total / static_cast<double>(batch_);
}

void ReferenceNetwork::backward() {
  clear(image_gradient);
  for (std::size_t row = 0; row + 1 < layers.size(); ++row) clear(layers[row].activation_gradient);
  static_cast<void>(loss());
  for (std::size_t row = layers.size(); row-- > 0;) {
    backward_row(row);
    const networks::LayerFigures& figures = layers[row].figures;
    add(activation_gradient(figures.source), layers[row].input_gradient);
    if (figures.source2 >= 0) add(activation_gradient(figures.source2), layers[row].input_gradient);
  }
}

void ReferenceNetwork::backward_row(std::size_t row) {
  ReferenceLayer& layer = layers[row];
  const Values& source = tensor(layer.figures.source);
  Values activation_gradient = layer.activation_gradient;
  for (std::size_t i = 0; i < layer.open.size(); ++i) {
    if (layer.open[i] == 0) activation_gradient[i] = 0;
  }
  Values& result = layer.input_gradient;
  clear(result);
  clear(layer.weights_gradient);
  clear(layer.biases_gradient);
  switch (layer.figures.layer->kind) {
    case Kind::Convolution:
      reference_convolution_backward(layer, source, activation_gradient, batch_);
      break;
    case Kind::Dense:
      reference_dense_backward(layer, source, activation_gradient, batch_);
      break;
    case Kind::MaxPool:
      for (std::size_t i = 0; i < activation_gradient.size(); ++i) {
        result[static_cast<std::size_t>(layer.winner[i])] += activation_gradient[i];
      }
      break;
    case Kind::AveragePool:
      reference_average_pool_backward(layer, activation_gradient, batch_);
      break;
    case Kind::BatchNormalisation:
      reference_normalisation_backward(layer, source, activation_gradient, batch_);
      break;
    case Kind::Add:
      result = activation_gradient;
      break;
    case Kind::Dropout:
      for (std::size_t i = 0; i < activation_gradient.size(); ++i) result[i] = activation_gradient[i] * layer.factor[i];
      break;
  }
}

}  // namespace nocturne::onednn
