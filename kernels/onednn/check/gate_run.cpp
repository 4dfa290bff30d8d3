#include "kernels/onednn/check/gate_run.hpp"

#include <algorithm>
#include <chrono>

#include "kernels/onednn/parameters/parameter_norms.hpp"

namespace nocturne::onednn {
namespace {

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
