#include "kernels/onednn/reference.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "kernels/onednn/reference_loops.hpp"

namespace nocturne::onednn {

using networks::Kind;

ReferenceNetwork::ReferenceNetwork(const networks::Network& network, std::int64_t batch)
    : batch_(batch), classes_(network.classes) {
  image.resize(static_cast<std::size_t>(batch * network.image.elements()));
  labels.resize(static_cast<std::size_t>(batch));
  logits_difference_.resize(static_cast<std::size_t>(batch * network.classes));
  for (const networks::LayerFigures& figures : networks::figures(network)) {
    const Kind kind = figures.layer->kind;
    if (kind != Kind::Convolution && kind != Kind::Dense && kind != Kind::MaxPool && kind != Kind::Dropout) {
      throw std::logic_error("the reference has no " + std::string(networks::to_text(kind)));
    }
    ReferenceLayer layer;
    layer.figures = figures;
    const auto outputs = static_cast<std::size_t>(batch * figures.output.elements());
    layer.output.resize(outputs);
    layer.input_difference.resize(static_cast<std::size_t>(batch * figures.input.elements()));
    layer.weights.resize(static_cast<std::size_t>(figures.weights));
    layer.biases.resize(static_cast<std::size_t>(figures.biases));
    layer.weights_gradient.resize(layer.weights.size());
    layer.biases_gradient.resize(layer.biases.size());
    if (figures.layer->relu) layer.open.resize(outputs);
    if (kind == Kind::MaxPool) layer.winner.resize(outputs);
    if (kind == Kind::Dropout) layer.factor.assign(outputs, 1.0);
    layers.push_back(std::move(layer));
  }
}

double ReferenceNetwork::forward(bool decide, std::size_t first) {
  for (std::size_t row = first; row < layers.size(); ++row) forward_row(row, decide);
  return loss();
}

void ReferenceNetwork::forward_row(std::size_t row, bool decide) {
  ReferenceLayer& layer = layers[row];
  const Values& source = input(row);
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
    default:
      for (std::size_t i = 0; i < source.size(); ++i) layer.output[i] = source[i] * layer.factor[i];
  }
  for (std::size_t i = 0; i < layer.open.size(); ++i) {
    if (decide) layer.open[i] = layer.output[i] > 0 ? 1 : 0;
    if (layer.open[i] == 0) layer.output[i] = 0;
  }
}

double ReferenceNetwork::loss() {
  double total = 0;
  const Values& logits = layers.back().output;
  const auto classes = static_cast<std::size_t>(classes_);
  for (std::size_t n = 0; n < labels.size(); ++n) {
    const double* row = logits.data() + n * classes;
    const double largest = *std::max_element(row, row + classes);
    double sum = 0;
    for (std::size_t i = 0; i < classes; ++i) sum += std::exp(row[i] - largest);
    total += std::log(sum) + largest - row[labels[n]];
    for (std::size_t i = 0; i < classes; ++i) {
      const double probability = std::exp(row[i] - largest) / sum;
      logits_difference_[n * classes + i] = (probability - (i == labels[n] ? 1 : 0)) / static_cast<double>(batch_);
    }
  }
  return total / static_cast<double>(batch_);
}

void ReferenceNetwork::backward() {
  const Values* difference = &logits_difference_;
  for (std::size_t row = layers.size(); row-- > 0;) {
    backward_row(row, *difference);
    difference = &layers[row].input_difference;
  }
}

void ReferenceNetwork::backward_row(std::size_t row, const Values& output_difference) {
  ReferenceLayer& layer = layers[row];
  Values difference = output_difference;
  for (std::size_t i = 0; i < layer.open.size(); ++i) {
    if (layer.open[i] == 0) difference[i] = 0;
  }
  Values& result = layer.input_difference;
  std::fill(result.begin(), result.end(), 0.0);
  std::fill(layer.weights_gradient.begin(), layer.weights_gradient.end(), 0.0);
  std::fill(layer.biases_gradient.begin(), layer.biases_gradient.end(), 0.0);
  switch (layer.figures.layer->kind) {
    case Kind::Convolution:
      reference_convolution_backward(layer, input(row), difference, batch_);
      break;
    case Kind::Dense:
      reference_dense_backward(layer, input(row), difference, batch_);
      break;
    case Kind::MaxPool:
      for (std::size_t i = 0; i < difference.size(); ++i) {
        result[static_cast<std::size_t>(layer.winner[i])] += difference[i];
      }
      break;
    default:
      for (std::size_t i = 0; i < difference.size(); ++i) result[i] = difference[i] * layer.factor[i];
  }
}

}  // namespace nocturne::onednn
