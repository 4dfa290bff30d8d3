#pragma once

/// Which tensors of parameters a network has, where they lie in flat arrays, and how they begin.
///
/// One flat array of f32 master weights (and one of each of the optimizer's averages) in three sections: weights, on
/// which weight decay acts; biases; scales and shifts of normalisations. The first two have gradients in the type of
/// the activations, the third in f32, as cuDNN wants it.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/cuda/settings.hpp"
#include "kernels/networks/network.hpp"
#include "measure/protocol/initial_state.hpp"

namespace nocturne::cuda {

enum class Section { Weights, Biases, Normalisation };

struct ParameterTensor {
  std::string name;                      ///< "conv1.weights", "conv1.biases", "norm1.scale", "norm1.shift"
  std::vector<std::int64_t> shape;       ///< the protocol's: (O, I, H, W), (O, I) or (O, C, H, W), (O)
  std::size_t row = 0;                   ///< row in the network's table
  std::int64_t fan_in = 0, fan_out = 0;  ///< 0 and 0: begins as `constant`
  float constant = 0;
  Section section = Section::Weights;
  std::int64_t count = 0;
  std::int64_t offset = 0;  ///< where its first value stands in the flat arrays
};

struct ParameterRange {
  std::int64_t begin = 0, end = 0;
  [[nodiscard]] std::int64_t count() const { return end - begin; }
};

struct ParameterTable {
  std::vector<ParameterTensor> tensors;    ///< in the order of the rows, weights before biases
  std::array<ParameterRange, 3> sections;  ///< by Section, one behind the other
  std::int64_t count = 0;                  ///< values of a flat array, padding included
  [[nodiscard]] const ParameterRange& section(Section which) const { return sections[static_cast<std::size_t>(which)]; }
  /// A row's tensor; nullptr: it has none. `first`: weights or scale, else biases or shift.
  [[nodiscard]] const ParameterTensor* of_row(std::size_t row, bool first) const;
};

[[nodiscard]] ParameterTable parameter_table(const networks::Network& network);

/// Row-major values in the tensor's shape: uniform in ±sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio, AISTATS 2010,
/// equation 16), with fan_out 0 in ±sqrt(6 / fan_in) (He and others, ICCV 2015, equation 10). The same in every worker.
[[nodiscard]] std::vector<float> initial_values(const ParameterTable& table, std::size_t tensor, std::uint64_t seed);

/// The values of a file for this tensor. Throws std::runtime_error where they are not there or have another shape.
[[nodiscard]] const std::vector<float>& values_of(const protocol::InitialState& state, const ParameterTensor& tensor);

/// Throws std::runtime_error where the state is of another network or has other tensors.
void check_state(const protocol::InitialState& state, const networks::Network& network, const ParameterTable& table);

/// From row-major (O, C, H, W) to the order in which the device keeps it: with Nhwc (O, H, W, C). And back.
[[nodiscard]] std::vector<float> to_device_order(const ParameterTensor& tensor, Layout layout,
                                                 const std::vector<float>& values);
[[nodiscard]] std::vector<float> from_device_order(const ParameterTensor& tensor, Layout layout,
                                                   const std::vector<float>& values);

}  // namespace nocturne::cuda
