#include "kernels/onednn/check/gate_run.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <span>

#include "kernels/onednn/parameters/parameters.hpp"
#include "measure/protocol/event_writer.hpp"

namespace nocturne::onednn {
namespace {

// How large each tensor of parameters is, and how far it moved: what the gate compares between trainers.

class ParameterNorms {
 public:
  /// Keeps a copy of the values as they are now. `parameters` must outlive it.
  explicit ParameterNorms(const Parameters& parameters);

  /// Euclidean norms of the values, and of their activation gradients from the copy, by tensor; summed in double
  /// precision. Padding of blocked layouts is zero and does not count.
  [[nodiscard]] std::vector<protocol::LayerNorm> now() const;

 private:
  const Parameters& parameters_;
  std::vector<std::vector<float>> began_;  ///< by tensor, in the order of its memory
};

std::span<const float> stored_values(const ParameterTensor& tensor) {
  return {static_cast<const float*>(tensor.value.get_data_handle()), tensor.layout.desc.get_size() / sizeof(float)};
}

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

using Clock = std::chrono::steady_clock;

}  // namespace

void run_gate(const protocol::Request& request, Trainer& trainer, worker::Reporter& reporter) {
  const ParameterNorms norms(trainer.parameters());
  reporter.norms(0, norms.now());
  for (std::int64_t done = 0; done < request.gate->steps; ++done) {
    const auto cpu = protocol::process_cpu_time();
    const auto begin = Clock::now();
    const StepResult result = trainer.step();
    reporter.sample({.first_step = done,
                     .steps = 1,
                     .wall_ns = std::max<std::int64_t>(
                         1, std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count()),
                     .cpu_ns = (protocol::process_cpu_time() - cpu).count(),
                     .data_wait_ns = result.data_wait_ns,
                     .loss = static_cast<double>(result.loss)});
    reporter.norms(done + 1, norms.now());
  }
}

protocol::InitialState initial_state_of(const Trainer& trainer, const std::vector<std::int32_t>& visits) {
  protocol::InitialState state{.network = std::string(trainer.plan().network().name), .tensors = {}, .batches = {}};
  for (const ParameterTensor& tensor : trainer.parameters().tensors()) {
    dnnl::stream stream(tensor.value.get_engine());
    state.tensors.push_back(
        {.name = tensor.layout.name, .shape = tensor.layout.shape, .values = read_plain(tensor.value, stream)});
  }
  const std::int64_t batch = trainer.plan().batch();
  for (std::int64_t first = 0; first < std::ssize(visits); first += batch) {
    const std::int64_t end = std::min(first + batch, static_cast<std::int64_t>(visits.size()));
    state.batches.emplace_back(visits.begin() + first, visits.begin() + end);
  }
  return state;
}

}  // namespace nocturne::onednn
