#include "tests/kernels/planted_error.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace nocturne::test {
namespace {

using onednn::Parameters;
using onednn::Sabotage;

std::span<float> floats_of(const dnnl::memory& memory) {
  return {static_cast<float*>(memory.get_data_handle()), memory.get_desc().get_size() / sizeof(float)};
}

void clear_gradient(Parameters& parameters, const char* tensor) {
  std::ranges::fill(floats_of(parameters.tensor(tensor).gradient), 0.0F);
}

// bf16 that cuts the lower half of the mantissa off instead of rounding.
void truncate(std::span<float> values) {
  for (float& value : values) value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & 0xffff0000U);
}

Sabotage bias_gradient_missing() {
  Sabotage sabotage;
  sabotage.tampering.gradients = [](Parameters& parameters) { clear_gradient(parameters, "conv2.biases"); };
  return sabotage;
}

Sabotage layer_frozen() {
  Sabotage sabotage;
  sabotage.tampering.gradients = [](Parameters& parameters) {
    clear_gradient(parameters, "dense1.weights");
    clear_gradient(parameters, "dense1.biases");
  };
  return sabotage;
}

Sabotage dropout_left_out() {
  Sabotage sabotage;
  sabotage.no_dropout = true;
  return sabotage;
}

Sabotage weights_truncated() {
  Sabotage sabotage;
  sabotage.tampering.values = [](Parameters& parameters) {
    for (const onednn::ParameterTensor& tensor : parameters.tensors()) truncate(floats_of(tensor.value));
  };
  return sabotage;
}

Sabotage labels_shifted() {
  Sabotage sabotage;
  sabotage.tampering.labels = [](std::span<std::int32_t> labels, bool last_of_epoch) {
    if (!last_of_epoch) return;
    for (std::int32_t& label : labels) label = (label + 1) % 10;
  };
  return sabotage;
}

Sabotage foreign_constants() {
  Sabotage sabotage;
  sabotage.rule = onednn::Adadelta{.rate = 1.0F, .rho = 0.9F, .epsilon = 1e-6F};
  return sabotage;
}

constexpr std::array kErrors = {
    PlantedError{"bias_gradient_missing", "the second convolution's biases get no gradient", bias_gradient_missing},
    PlantedError{"layer_frozen", "the first dense layer never changes", layer_frozen},
    PlantedError{"dropout_left_out", "nothing is dropped in training", dropout_left_out},
    PlantedError{"weights_truncated", "updates accumulate in bf16 that truncates instead of rounding",
                 weights_truncated},
    PlantedError{"labels_shifted", "the epoch's last batch is taught the next class", labels_shifted},
    PlantedError{"foreign_constants", "Adadelta with another framework's rho and epsilon", foreign_constants},
};

}  // namespace

std::span<const PlantedError> planted_errors() {
  return kErrors;
}

Sabotage planted(std::string_view name) {
  const auto found = std::ranges::find(kErrors, name, &PlantedError::name);
  if (found == kErrors.end()) throw std::out_of_range("no planted error is called " + std::string(name));
  return found->make();
}

}  // namespace nocturne::test
