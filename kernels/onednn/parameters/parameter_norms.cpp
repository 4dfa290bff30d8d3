#include "kernels/onednn/parameters/parameter_norms.hpp"

#include <cmath>
#include <span>

namespace nocturne::onednn {
namespace {

std::span<const float> stored_values(const ParameterTensor& tensor) {
  return {static_cast<const float*>(tensor.value.get_data_handle()), tensor.layout.desc.get_size() / sizeof(float)};
}

}  // namespace

ParameterNorms::ParameterNorms(const Parameters& parameters) : parameters_(parameters) {
  for (const ParameterTensor& tensor : parameters.tensors()) {
    const std::span<const float> values = stored_values(tensor);
    began_.emplace_back(values.begin(), values.end());
  }
}

std::vector<protocol::LayerNorm> ParameterNorms::now() const {
  std::vector<protocol::LayerNorm> norms;
  for (const ParameterTensor& tensor : parameters_.tensors()) {
    const std::span<const float> values = stored_values(tensor);
    const std::vector<float>& began = began_[norms.size()];
    double norm = 0, moved = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double value = values[i], activation_gradient = value - static_cast<double>(began[i]);
      norm += value * value;
      moved += activation_gradient * activation_gradient;
    }
    norms.push_back({.layer = tensor.layout.name, .norm = std::sqrt(norm), .moved = std::sqrt(moved)});
  }
  return norms;
}

}  // namespace nocturne::onednn
