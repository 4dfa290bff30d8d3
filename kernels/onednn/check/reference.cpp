#include "kernels/onednn/check/reference.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace nocturne::onednn {
namespace {

// The loops of reference.cpp, one layer each; `batch` images. Backward adds to gradients and activation gradients set
// to zero.

// Calls body(weight index, output row, input row, first and last output column) for every tap of a convolution's window
// and every output row it serves: out[x] += w · in[x · stride + offset].
template <typename Body>
void for_each_tap(const networks::LayerFigures& figures, std::int64_t batch, const Body& body) {
  const networks::Shape &in = figures.input, &out = figures.output;
  const std::int64_t kernel = figures.layer->kernel, stride = figures.layer->stride, padding = figures.layer->padding;
  for (std::int64_t n = 0; n < batch; ++n) {
    for (std::int64_t o = 0; o < out.channels; ++o) {
      for (std::int64_t c = 0; c < in.channels; ++c) {
        for (std::int64_t ky = 0; ky < kernel; ++ky) {
          for (std::int64_t kx = 0; kx < kernel; ++kx) {
            const std::int64_t weight = ((o * in.channels + c) * kernel + ky) * kernel + kx;
            std::int64_t first = 0, last = out.width;
            while (first < last && first * stride + kx - padding < 0) ++first;
            while (last > first && (last - 1) * stride + kx - padding >= in.width) --last;
            for (std::int64_t y = 0; y < out.height; ++y) {
              const std::int64_t source = y * stride + ky - padding;
              if (source < 0 || source >= in.height) continue;
              const std::int64_t out_row = ((n * out.channels + o) * out.height + y) * out.width;
              const std::int64_t in_row = ((n * in.channels + c) * in.height + source) * in.width + kx - padding;
              body(weight, out_row, in_row, first, last);
            }
          }
        }
      }
    }
  }
}

void reference_convolution(ReferenceLayer& layer, const Values& input, std::int64_t batch) {
  const networks::Shape& out = layer.figures.output;
  const std::int64_t area = out.height * out.width, stride = layer.figures.layer->stride;
  for (std::int64_t i = 0; i < batch * out.channels * area; ++i) {
    const auto channel = static_cast<std::size_t>(i / area % out.channels);
    layer.output[static_cast<std::size_t>(i)] = layer.biases.empty() ? 0.0 : layer.biases[channel];
  }
  const double *weights = layer.weights.data(), *in = input.data();
  double* result = layer.output.data();
  for_each_tap(layer.figures, batch,
               [=](std::int64_t weight, std::int64_t out_row, std::int64_t in_row, std::int64_t x, std::int64_t last) {
                 const double w = weights[weight];
                 for (; x < last; ++x) result[out_row + x] += w * in[in_row + x * stride];
               });
}

void reference_convolution_backward(ReferenceLayer& layer, const Values& input, const Values& activation_gradient,
                                    std::int64_t batch) {
  const networks::Shape& out = layer.figures.output;
  const std::int64_t area = out.height * out.width, stride = layer.figures.layer->stride;
  if (!layer.biases.empty()) {
    for (std::int64_t i = 0; i < batch * out.channels * area; ++i) {
      layer.biases_gradient[static_cast<std::size_t>(i / area % out.channels)] +=
          activation_gradient[static_cast<std::size_t>(i)];
    }
  }
  const double *weights = layer.weights.data(), *in = input.data(), *out_gradient = activation_gradient.data();
  double *gradient = layer.weights_gradient.data(), *in_gradient = layer.input_gradient.data();
  for_each_tap(layer.figures, batch,
               [=](std::int64_t weight, std::int64_t out_row, std::int64_t in_row, std::int64_t x, std::int64_t last) {
                 const double w = weights[weight];
                 double sum = 0;
                 for (; x < last; ++x) {
                   sum += out_gradient[out_row + x] * in[in_row + x * stride];
                   in_gradient[in_row + x * stride] += w * out_gradient[out_row + x];
                 }
                 gradient[weight] += sum;
               });
}

void reference_dense(ReferenceLayer& layer, const Values& input, std::int64_t batch) {
  const std::int64_t inputs = layer.figures.input.elements(), outputs = layer.figures.output.channels;
  for (std::int64_t n = 0; n < batch; ++n) {
    for (std::int64_t o = 0; o < outputs; ++o) {
      const double* in = input.data() + n * inputs;
      const double* weights = layer.weights.data() + o * inputs;
      double sum = layer.biases.empty() ? 0.0 : layer.biases[static_cast<std::size_t>(o)];
      for (std::int64_t i = 0; i < inputs; ++i) sum += weights[i] * in[i];
      layer.output[static_cast<std::size_t>(n * outputs + o)] = sum;
    }
  }
}

void reference_dense_backward(ReferenceLayer& layer, const Values& input, const Values& activation_gradient,
                              std::int64_t batch) {
  const std::int64_t inputs = layer.figures.input.elements(), outputs = layer.figures.output.channels;
  for (std::int64_t n = 0; n < batch; ++n) {
    for (std::int64_t o = 0; o < outputs; ++o) {
      const double d = activation_gradient[static_cast<std::size_t>(n * outputs + o)];
      if (!layer.biases.empty()) layer.biases_gradient[static_cast<std::size_t>(o)] += d;
      const double *in = input.data() + n * inputs, *weights = layer.weights.data() + o * inputs;
      double *gradient = layer.weights_gradient.data() + o * inputs, *result = layer.input_gradient.data() + n * inputs;
      for (std::int64_t i = 0; i < inputs; ++i) {
        gradient[i] += d * in[i];
        result[i] += d * weights[i];
      }
    }
  }
}

/// With `decide` the first of equal maxima wins; otherwise layer.winner holds.
void reference_max_pool(ReferenceLayer& layer, const Values& input, std::int64_t batch, bool decide) {
  const networks::Shape &in = layer.figures.input, &out = layer.figures.output;
  const std::int64_t kernel = layer.figures.layer->kernel, stride = layer.figures.layer->stride;
  const std::int64_t padding = layer.figures.layer->padding;
  std::size_t at = 0;
  for (std::int64_t plane = 0; plane < batch * out.channels; ++plane) {
    for (std::int64_t y = 0; y < out.height; ++y) {
      for (std::int64_t x = 0; x < out.width; ++x, ++at) {
        std::int64_t best = -1;
        for (std::int64_t k = 0; decide && k < kernel * kernel; ++k) {
          const std::int64_t row = y * stride + k / kernel - padding, column = x * stride + k % kernel - padding;
          if (row < 0 || row >= in.height || column < 0 || column >= in.width) continue;
          const std::int64_t index = (plane * in.height + row) * in.width + column;
          if (best < 0 || input[static_cast<std::size_t>(index)] > input[static_cast<std::size_t>(best)]) best = index;
        }
        if (decide) layer.winner[at] = best;
        layer.output[at] = input[static_cast<std::size_t>(layer.winner[at])];
      }
    }
  }
}

// Calls body(output index, input index) for every pixel that an average-pool's window has in its input.
template <typename Body>
void for_each_pooled(const networks::LayerFigures& figures, std::int64_t batch, const Body& body) {
  const networks::Shape &in = figures.input, &out = figures.output;
  const std::int64_t kernel = figures.layer->kernel, stride = figures.layer->stride, padding = figures.layer->padding;
  for (std::int64_t at = 0; at < batch * out.elements(); ++at) {
    const std::int64_t plane = at / (out.height * out.width), y = at / out.width % out.height, x = at % out.width;
    for (std::int64_t k = 0; k < kernel * kernel; ++k) {
      const std::int64_t row = y * stride + k / kernel - padding, column = x * stride + k % kernel - padding;
      if (row < 0 || row >= in.height || column < 0 || column >= in.width) continue;
      body(static_cast<std::size_t>(at), static_cast<std::size_t>((plane * in.height + row) * in.width + column));
    }
  }
}

// Calls body(channel, index) for every value.
template <typename Body>
void for_each_value(const networks::Shape& shape, std::int64_t batch, const Body& body) {
  const std::int64_t area = shape.height * shape.width;
  for (std::int64_t i = 0; i < batch * shape.elements(); ++i)
    body(static_cast<std::size_t>(i / area % shape.channels), static_cast<std::size_t>(i));
}

/// Divides by the whole window, padding included.
void reference_average_pool(ReferenceLayer& layer, const Values& input, std::int64_t batch) {
  const double window = static_cast<double>(layer.figures.layer->kernel * layer.figures.layer->kernel);
  std::fill(layer.output.begin(), layer.output.end(), 0.0);
  for_each_pooled(layer.figures, batch,
                  [&](std::size_t out, std::size_t in) { layer.output[out] += input[in] / window; });
}

void reference_average_pool_backward(ReferenceLayer& layer, const Values& activation_gradient, std::int64_t batch) {
  const double window = static_cast<double>(layer.figures.layer->kernel * layer.figures.layer->kernel);
  for_each_pooled(layer.figures, batch, [&](std::size_t out, std::size_t in) {
    layer.input_gradient[in] += activation_gradient[out] / window;
  });
}

/// Fills layer.mean and layer.deviation from the batch; backward uses them.
void reference_normalisation(ReferenceLayer& layer, const Values& input, std::int64_t batch) {
  const networks::Shape& shape = layer.figures.output;
  const auto count = static_cast<double>(batch * shape.height * shape.width);
  Values variance(layer.mean.size(), 0.0);
  std::fill(layer.mean.begin(), layer.mean.end(), 0.0);
  for_each_value(shape, batch, [&](std::size_t channel, std::size_t i) { layer.mean[channel] += input[i] / count; });
  for_each_value(shape, batch, [&](std::size_t channel, std::size_t i) {
    const double off = input[i] - layer.mean[channel];
    variance[channel] += off * off / count;
  });
  for (std::size_t channel = 0; channel < variance.size(); ++channel)
    layer.deviation[channel] = std::sqrt(variance[channel] + networks::kNormalisationEpsilon);
  for_each_value(shape, batch, [&](std::size_t channel, std::size_t i) {
    const double normal = (input[i] - layer.mean[channel]) / layer.deviation[channel];
    layer.output[i] = layer.weights[channel] * normal + layer.biases[channel];
  });
}

// Ioffe and Szegedy, section 3: with x the normalised input, in = scale / deviation · (d - mean(d) - x · mean(d x)).
void reference_normalisation_backward(ReferenceLayer& layer, const Values& input, const Values& activation_gradient,
                                      std::int64_t batch) {
  const networks::Shape& shape = layer.figures.output;
  const auto count = static_cast<double>(batch * shape.height * shape.width);
  const auto normal = [&](std::size_t channel, std::size_t i) {
    return (input[i] - layer.mean[channel]) / layer.deviation[channel];
  };
  for_each_value(shape, batch, [&](std::size_t channel, std::size_t i) {
    layer.weights_gradient[channel] += activation_gradient[i] * normal(channel, i);
    layer.biases_gradient[channel] += activation_gradient[i];
  });
  for_each_value(shape, batch, [&](std::size_t channel, std::size_t i) {
    const double centred = activation_gradient[i] - layer.biases_gradient[channel] / count -
                           normal(channel, i) * layer.weights_gradient[channel] / count;
    layer.input_gradient[i] = layer.weights[channel] / layer.deviation[channel] * centred;
  });
}

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
  for (std::size_t i = 0; i < layer.open.size(); ++i)
    if (layer.open[i] == 0) activation_gradient[i] = 0;
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
      for (std::size_t i = 0; i < activation_gradient.size(); ++i)
        result[static_cast<std::size_t>(layer.winner[i])] += activation_gradient[i];
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
