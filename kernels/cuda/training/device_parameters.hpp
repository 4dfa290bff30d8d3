#pragma once

/// A network's parameters on the device: master weights, gradients, the optimizer's averages, 16-bit copies.

#include <cstdint>
#include <vector>

#include "kernels/cuda/device/device.hpp"
#include "kernels/cuda/device_code/launchers.hpp"
#include "kernels/cuda/plan/parameter_table.hpp"
#include "measure/protocol/request.hpp"

namespace nocturne::cuda {

/// How the weights follow the gradients.
struct Optimizer {
  bool adadelta = true;  ///< else momentum
  AdadeltaRule adadelta_rule;
  protocol::MomentumRule momentum_rule;
};

/// The optimizer a request asks for, its rate as the request's learning_rate_rule has it for this batch size. Throws
/// worker::Unsupported, also for a warm-up: recorded steps have one rate.
[[nodiscard]] Optimizer read_optimizer(const protocol::Request& request, std::int64_t batch);

class DeviceParameters {
 public:
  /// Allocates; all values are zeros.
  DeviceParameters(ParameterTable table, Precision precision, Layout layout);

  [[nodiscard]] const ParameterTable& table() const { return table_; }
  /// Where layers read them: the 16-bit copies of weights and biases where there are any, else the master values.
  [[nodiscard]] void* values(const ParameterTensor& tensor) const;
  [[nodiscard]] void* gradient(const ParameterTensor& tensor) const;

  /// Row-major values, one array a tensor of the table; waits for the device.
  void assign(const std::vector<std::vector<float>>& values);
  [[nodiscard]] std::vector<std::vector<float>> read() const;

  /// Puts the update on the stream; with f16 the check for overflow before it.
  void update(const Optimizer& optimizer, StepState* state, cudaStream_t stream);

  [[nodiscard]] std::int64_t bytes() const;

 private:
  [[nodiscard]] bool has_copies() const { return bytes_per_value(precision_) < 4; }
  /// Bytes from the beginning of the gradients.
  [[nodiscard]] std::int64_t gradient_offset(Section section, std::int64_t value) const;
  [[nodiscard]] DataType gradient_type(Section section) const;

  ParameterTable table_;
  Precision precision_;
  Layout layout_;
  DeviceMemory masters_, gradients_, first_, second_, copies_;
};

}  // namespace nocturne::cuda
