#pragma once

/// What a network learns: f32 master values, gradients, the optimizer's averages; and what it only remembers.

#include <cstdint>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <variant>
#include <vector>

#include "kernels/onednn/parameters/optimizers.hpp"
#include "kernels/onednn/plan/arena.hpp"

namespace nocturne::onednn {

using UpdateRule = std::variant<Adadelta, Momentum>;

/// What a layer needs of its parameters. Weights start uniform in ±sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio,
/// AISTATS 2010, equation 16), with fan_out 0 in ±sqrt(6 / fan_in) (He and others, ICCV 2015, equation 10); with both 0
/// as `constant`.
struct ParameterLayout {
  std::string name;          ///< "conv1.weights", "conv1.biases", "norm1.scale", "norm1.shift"
  dnnl::memory::desc desc;   ///< f32, in the layout in which its gradient is computed
  dnnl::memory::dims shape;  ///< as others know it: (O, I, H, W), (O, I), (O)
  std::int64_t fan_in = 0, fan_out = 0;
  float constant = 0;
  bool decays = false;  ///< weight decay acts on it
  bool trained = true;  ///< false: a running average, which has no gradient ("norm1.mean")
};

struct ParameterTensor {
  ParameterLayout layout;
  dnnl::memory value, gradient;  ///< gradient: empty where it is not trained
};

/// The arrays of all trained tensors lie in one order, so that the update is a loop over flat memory: it works element
/// by element and does not care about layouts. Padding of blocked layouts has gradient zero and stays zero.
///
/// Shared by the plans of one training; not thread-safe.
class Parameters {
 public:
  /// `averages`: arrays that the optimizer needs besides, 2 for Adadelta, 1 for momentum.
  Parameters(const std::vector<ParameterLayout>& layouts, dnnl::engine engine, int averages = 2);

  /// The numbers belong to logical positions: the same for every layout, precision and number of threads.
  void initialise(std::uint64_t seed, dnnl::stream& stream);

  /// Replaces one tensor's values, row-major; version() grows. Throws std::out_of_range where there is no such tensor.
  /// REQUIRES: as many values as it has elements.
  void assign(const std::string& name, const std::vector<float>& values, dnnl::stream& stream);

  /// Applies the gradients now present; version() grows. REQUIRES: the same kind of rule always, and its averages.
  void update(const UpdateRule& rule);

  /// Trained or not. Throws std::out_of_range.
  [[nodiscard]] ParameterTensor& tensor(const std::string& name);
  /// Those that are trained.
  [[nodiscard]] const std::vector<ParameterTensor>& tensors() const { return tensors_; }
  /// Grows with each change of the values: plans that keep copies in other layouts compare it.
  [[nodiscard]] std::uint64_t version() const { return version_; }

 private:
  /// Neighbouring tensors with and without decay.
  struct Stretch {
    std::int64_t begin, end;
    bool decays;
  };
  void update_range(const Adadelta& rule, std::int64_t begin, std::int64_t end);
  void update_range(const Momentum& rule, std::int64_t begin, std::int64_t end);

  dnnl::engine engine_;
  Arena arena_;
  std::vector<ParameterTensor> tensors_, running_;
  std::vector<Stretch> stretches_;
  std::int64_t count_ = 0;
  float* values_ = nullptr;
  float* gradients_ = nullptr;
  float* first_average_ = nullptr;   ///< mean square gradients; velocities
  float* second_average_ = nullptr;  ///< mean square updates; null for momentum
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
