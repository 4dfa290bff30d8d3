#include "kernels/cuda/training/gate_run.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>

#include "measure/protocol/initial_state.hpp"

namespace nocturne::cuda {
namespace {

using Clock = std::chrono::steady_clock;
using Weights = std::vector<std::vector<float>>;

std::vector<protocol::LayerNorm> norms(const ParameterTable& table, const Weights& began, const Weights& now) {
  std::vector<protocol::LayerNorm> all;
  for (std::size_t tensor = 0; tensor < table.tensors.size(); ++tensor) {
    double norm = 0, moved = 0;
    for (std::size_t i = 0; i < now[tensor].size(); ++i) {
      const double value = now[tensor][i], activation_gradient = value - static_cast<double>(began[tensor][i]);
      norm += value * value;
      moved += activation_gradient * activation_gradient;
    }
    all.push_back({.layer = table.tensors[tensor].name, .norm = std::sqrt(norm), .moved = std::sqrt(moved)});
  }
  return all;
}

protocol::InitialState state_of(const DeviceTrainer& trainer, const Weights& weights,
                                const std::vector<std::int32_t>& visits, std::int64_t batch) {
  protocol::InitialState state{.network = std::string(trainer.network().name), .tensors = {}, .batches = {}};
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const ParameterTensor& tensor = trainer.table().tensors[i];
    state.tensors.push_back({.name = tensor.name, .shape = tensor.shape, .values = weights[i]});
  }
  const auto count = static_cast<std::int64_t>(visits.size());
  for (std::int64_t first = 0; first < count; first += batch) {
    state.batches.emplace_back(visits.begin() + first, visits.begin() + std::min(first + batch, count));
  }
  return state;
}

}  // namespace

void run_gate(const protocol::Request& request, DeviceTrainer& trainer, const std::vector<std::int32_t>& visits,
              worker::Reporter& reporter) {
  const Weights began = trainer.weights();
  if (request.gate->write) {
    const std::int64_t batch = read_settings(request.configuration).batch;
    protocol::write_initial_state(*request.gate->write, state_of(trainer, began, visits, batch));
  }
  reporter.norms(0, norms(trainer.table(), began, began));
  for (std::int64_t done = 0; done < request.gate->steps; ++done) {
    const auto cpu = protocol::process_cpu_time();
    const auto begin = Clock::now();
    const worker::StepFacts facts = trainer.step();
    const worker::Settled settled = trainer.settle();
    const std::chrono::nanoseconds wall = Clock::now() - begin;
    reporter.sample({.first_step = done,
                     .steps = 1,
                     .wall_ns = std::max<std::int64_t>(1, wall.count()),
                     .cpu_ns = (protocol::process_cpu_time() - cpu).count(),
                     .data_wait_ns = facts.data_wait_ns,
                     .loss = settled.loss});
    reporter.norms(done + 1, norms(trainer.table(), began, trainer.weights()));
  }
}

}  // namespace nocturne::cuda
