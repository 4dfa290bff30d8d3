/// check_reference(): the reference's gradients against central differences of its loss.

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "kernels/onednn/check/check_gradients.hpp"
#include "kernels/onednn/check/reference.hpp"
#include "kernels/onednn/random.hpp"

namespace nocturne::onednn {
namespace {

constexpr std::int64_t kImages = 2;
constexpr std::size_t kPositions = 6;  // sampled in each tensor
constexpr double kStep = 1e-4;  // error of the formula about step², of rounding 1e-16 / step: both far under 1e-6

void fill(ReferenceNetwork& reference, std::uint64_t seed) {
  for (std::size_t i = 0; i < reference.image.size(); ++i) {
    reference.image[i] = static_cast<double>(uniform(key_of(seed, 1), i));
  }
  for (std::size_t n = 0; n < reference.labels.size(); ++n) reference.labels[n] = static_cast<std::int32_t>(3 + n);
  for (std::size_t row = 0; row < reference.layers.size(); ++row) {
    ReferenceLayer& layer = reference.layers[row];
    const auto noise = [&](Values& values, std::uint64_t use, double size) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = (2 * static_cast<double>(uniform(key_of(seed, use, row), i)) - 1) * size;
      }
    };
    const double inputs = static_cast<double>(std::max<std::int64_t>(1, layer.figures.weights)) /
                          static_cast<double>(layer.figures.output.channels);
    noise(layer.weights, 2, std::sqrt(3 / inputs));
    noise(layer.biases, 3, 0.1);
    if (layer.figures.layer->kind == networks::Kind::BatchNormalisation) {
      for (double& scale : layer.weights) scale = 1 + scale / 8;  // near 1, and none is 0
    }
    for (std::size_t i = 0; i < layer.factor.size(); ++i) {
      const double rate = layer.figures.layer->rate;
      layer.factor[i] = static_cast<double>(uniform(key_of(seed, 4, row), i)) < rate ? 0 : 1 / (1 - rate);
    }
  }
}

// A position where something can be seen: most gradients behind a dropout or a closed ReLU are zero.
std::size_t sample(const Values& gradient, double largest, std::uint64_t key) {
  std::size_t at = 0;
  for (std::uint64_t attempt = 0; attempt < 1000; ++attempt) {
    at = key_of(key, attempt) % gradient.size();
    if (std::abs(gradient[at]) > 0.01 * largest) break;
  }
  return at;
}

// Moves sampled values of a tensor and compares slopes; rows from `first` on feel it.
GradientCheck check_tensor(ReferenceNetwork& reference, std::size_t first, std::string layer, const char* name,
                           Values& values, const Values& gradient) {
  double largest = 0, worst = 0;
  for (const double each : gradient) largest = std::max(largest, std::abs(each));
  for (std::size_t k = 0; k < kPositions; ++k) {
    const std::size_t at = sample(gradient, largest, key_of(k, first));
    const double before = values[at];
    values[at] = before + kStep;
    const double above = reference.forward(false, first);
    values[at] = before - kStep;
    const double below = reference.forward(false, first);
    values[at] = before;
    const double error = std::abs((above - below) / (2 * kStep) - gradient[at]);
    if (std::isnan(error)) return {std::move(layer), name, error, kToleranceFiniteDifferences};
    worst = std::max(worst, error);
  }
  return {std::move(layer), name, worst / std::max(largest, 1e-300), kToleranceFiniteDifferences};
}

}  // namespace

std::vector<GradientCheck> check_reference(const networks::Network& network, std::uint64_t seed) {
  ReferenceNetwork reference(network, kImages);
  fill(reference, seed);
  reference.forward(true);
  reference.backward();
  const std::vector<ReferenceLayer> computed = reference.layers;  // forward() moves the last row's difference
  std::vector<GradientCheck> checks;
  // From the last row up: moving a row's values disturbs only the outputs below it, which later checks compute again.
  for (std::size_t row = reference.layers.size(); row-- > 0;) {
    ReferenceLayer& layer = reference.layers[row];
    const std::string name(layer.figures.layer->name);
    const TensorNames names = tensor_names(layer.figures.layer->kind);
    checks.push_back(
        check_tensor(reference, row + 1, name, "output difference", layer.output, computed[row].activation_gradient));
    if (!layer.biases.empty()) {
      checks.push_back(check_tensor(reference, row, name, names.biases, layer.biases, computed[row].biases_gradient));
    }
    if (!layer.weights.empty()) {
      checks.push_back(
          check_tensor(reference, row, name, names.weights, layer.weights, computed[row].weights_gradient));
    }
  }
  checks.push_back(check_tensor(reference, 0, "image", "difference", reference.image, reference.image_gradient));
  std::reverse(checks.begin(), checks.end());
  return checks;
}

}  // namespace nocturne::onednn
