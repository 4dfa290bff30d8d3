#include "kernels/worker/gate_visits.hpp"

#include <stdexcept>
#include <string>

#include "kernels/data/counter_random.hpp"
#include "kernels/worker/refusal.hpp"

namespace nocturne::worker {
namespace {

std::vector<std::int32_t> last_of_epoch(const protocol::Request& request, std::int64_t batch, std::int64_t count) {
  const bool partial = request.partial_batch == protocol::PartialBatch::Train && count % batch > 0;
  const std::int64_t full = count / batch, steps = full + (partial ? 1 : 0), wanted = request.gate->steps;
  if (wanted > steps) {
    throw Unsupported("gate: an epoch has " + std::to_string(steps) + " steps, " + std::to_string(wanted) +
                      " are asked for");
  }
  const std::vector<std::int32_t> order = data::epoch_order(count, request.seed, 0);
  const std::int64_t end = partial ? count : full * batch;
  return {order.begin() + (steps - wanted) * batch, order.begin() + end};
}

std::vector<std::int32_t> images_of(const protocol::InitialState& initial, std::int64_t batch, std::int64_t steps) {
  if (static_cast<std::int64_t>(initial.batches.size()) != steps) {
    throw std::runtime_error("initial state: it has " + std::to_string(initial.batches.size()) + " batches, " +
                             std::to_string(steps) + " steps are asked for");
  }
  std::vector<std::int32_t> images;
  for (const auto& each : initial.batches) {
    const auto size = static_cast<std::int64_t>(each.size());
    const bool smaller = &each == &initial.batches.back() && size < batch;
    if (size != batch && !smaller) {
      throw std::runtime_error("initial state: a batch has " + std::to_string(size) +
                               " images, the configuration's have " + std::to_string(batch));
    }
    images.insert(images.end(), each.begin(), each.end());
  }
  return images;
}

}  // namespace

std::vector<std::int32_t> gate_visits(const protocol::Request& request, std::int64_t batch, std::int64_t count,
                                      const protocol::InitialState* initial) {
  return initial != nullptr ? images_of(*initial, batch, request.gate->steps) : last_of_epoch(request, batch, count);
}

}  // namespace nocturne::worker
