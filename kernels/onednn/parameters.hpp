#pragma once

/// Weights and biases of a network: f32 master values, gradients, the optimizer's averages.

#include <cstdint>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <vector>

#include "kernels/onednn/adadelta.hpp"
#include "kernels/onednn/arena.hpp"

namespace nocturne::onednn {

/// What a layer needs of its parameters.
struct ParameterLayout {
  std::string name;                      ///< "conv1.weights", "conv1.biases"
  dnnl::memory::desc desc;               ///< f32, in the layout in which its gradient is computed
  std::int64_t fan_in = 0, fan_out = 0;  ///< 0: starts as zeros
};

struct ParameterTensor {
  ParameterLayout layout;
  dnnl::memory value, gradient;
};

/// All four arrays of all tensors lie in one order, so that the update is one loop over flat memory: it works element
/// by element and does not care about layouts. Padding of blocked layouts has gradient zero and stays zero.
///
/// Shared by the plans of one training; not thread-safe.
class Parameters {
 public:
  Parameters(const std::vector<ParameterLayout>& layouts, dnnl::engine engine);

  /// Weights uniform in ±sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio, AISTATS 2010, equation 16), biases zero. The
  /// numbers belong to logical positions: the same for every layout, precision and number of threads.
  void initialise(std::uint64_t seed, dnnl::stream& stream);

  /// Replaces one tensor's values, row-major; version() grows. Throws std::out_of_range where there is no such tensor.
  /// REQUIRES: as many values as it has elements.
  void assign(const std::string& name, const std::vector<float>& values, dnnl::stream& stream);

  /// Applies the gradients now present; version() grows.
  void update(const Adadelta& rule);

  [[nodiscard]] ParameterTensor& tensor(const std::string& name);
  [[nodiscard]] const std::vector<ParameterTensor>& tensors() const { return tensors_; }
  /// Grows with each change of the values: plans that keep copies in other layouts compare it.
  [[nodiscard]] std::uint64_t version() const { return version_; }

 private:
  dnnl::engine engine_;
  Arena arena_;
  std::vector<ParameterTensor> tensors_;
  std::int64_t count_ = 0;
  float* values_ = nullptr;
  float* gradients_ = nullptr;
  float* mean_square_gradients_ = nullptr;
  float* mean_square_updates_ = nullptr;
  std::uint64_t version_ = 0;
};

/// Dense row-major layout of the same shape in f32: (O, I, H, W), (N, C, H, W), (N, C).
[[nodiscard]] dnnl::memory::desc plain_f32(const dnnl::memory::desc& desc);
/// Number of values without padding.
[[nodiscard]] std::int64_t element_count(const dnnl::memory::desc& desc);
/// Copies any tensor into row-major f32.
[[nodiscard]] std::vector<float> read_plain(const dnnl::memory& memory, dnnl::stream& stream);
/// Copies row-major f32 into a tensor of any layout and type.
void write_plain(const std::vector<float>& values, dnnl::memory& memory, dnnl::stream& stream);

}  // namespace nocturne::onednn
