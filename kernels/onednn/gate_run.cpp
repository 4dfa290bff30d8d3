#include "kernels/onednn/gate_run.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "kernels/onednn/parameter_norms.hpp"
#include "kernels/onednn/refusal.hpp"

namespace nocturne::onednn {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<std::int32_t> last_of_epoch(const protocol::Request& request, std::int64_t batch, std::int64_t count) {
  const bool partial = request.partial_batch == protocol::PartialBatch::Train && count % batch > 0;
  const std::int64_t full = count / batch, steps = full + (partial ? 1 : 0), wanted = request.gate->steps;
  if (wanted > steps) {
    throw Unsupported("gate: an epoch has " + std::to_string(steps) + " steps, " + std::to_string(wanted) +
                      " are asked for");
  }
  const std::vector<std::int32_t> order = epoch_order(count, request.seed, 0);
  const std::int64_t end = partial ? count : full * batch;
  return {order.begin() + (steps - wanted) * batch, order.begin() + end};
}

std::vector<std::int32_t> images_of(const protocol::InitialState& initial, std::int64_t batch, std::int64_t steps) {
  if (std::ssize(initial.batches) != steps) {
    throw std::runtime_error("initial state: it has " + std::to_string(initial.batches.size()) + " batches, " +
                             std::to_string(steps) + " steps are asked for");
  }
  std::vector<std::int32_t> images;
  for (const auto& each : initial.batches) {
    const bool smaller = &each == &initial.batches.back() && std::ssize(each) < batch;
    if (std::ssize(each) != batch && !smaller) {
      throw std::runtime_error("initial state: a batch has " + std::to_string(each.size()) +
                               " images, the configuration's have " + std::to_string(batch));
    }
    images.insert(images.end(), each.begin(), each.end());
  }
  return images;
}

}  // namespace

TrainerOptions gate_options(const protocol::Request& request, const Settings& settings, const ImageSet& images,
                            const protocol::InitialState* initial) {
  if (settings.batch > images.count()) {
    throw Unsupported("batch " + std::to_string(settings.batch) + " is larger than the data set of " +
                      std::to_string(images.count()) + " images");
  }
  TrainerOptions options;
  options.settings = settings;
  options.seed = request.seed;
  options.train_partial_batch = true;  // the visits say whether there is one
  options.dropout = false;
  options.visits = initial != nullptr ? images_of(*initial, settings.batch, request.gate->steps)
                                      : last_of_epoch(request, settings.batch, images.count());
  options.initial = initial;
  return options;
}

void run_gate(const protocol::Request& request, Trainer& trainer, Reporter& reporter) {
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

protocol::InitialState initial_state_of(const Trainer& trainer, const TrainerOptions& options) {
  protocol::InitialState state{.network = std::string(trainer.plan().network().name), .tensors = {}, .batches = {}};
  for (const ParameterTensor& tensor : trainer.parameters().tensors()) {
    dnnl::stream stream(tensor.value.get_engine());
    state.tensors.push_back({.name = tensor.layout.name,
                             .shape = tensor.layout.desc.get_dims(),
                             .values = read_plain(tensor.value, stream)});
  }
  const std::int64_t batch = trainer.plan().batch();
  for (std::int64_t first = 0; first < std::ssize(options.visits); first += batch) {
    const std::int64_t end = std::min(first + batch, static_cast<std::int64_t>(options.visits.size()));
    state.batches.emplace_back(options.visits.begin() + first, options.visits.begin() + end);
  }
  return state;
}

}  // namespace nocturne::onednn
