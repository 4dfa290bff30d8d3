#include "kernels/data/schedule.hpp"

#include <numeric>

#include "kernels/data/counter_random.hpp"

namespace nocturne::data {

Schedule::Schedule(const EpochShape& shape, const SourceOptions& options)
    : shape_(shape), seed_(options.seed), order_(options.visits), fixed_(!options.visits.empty() || !options.shuffle) {
  if (order_.empty()) {
    order_.resize(static_cast<std::size_t>(shape.examples));
    std::iota(order_.begin(), order_.end(), 0);
  }
  begin_epoch();
}

void Schedule::begin_epoch() noexcept {
  ++epoch_;
  step_ = 0;
  if (!fixed_) order_epoch(order_, seed_, epoch_);
}

Schedule::Batch Schedule::next() noexcept {
  if (step_ == shape_.steps()) begin_epoch();
  const auto first = static_cast<std::size_t>(step_ * shape_.batch);
  const auto size = static_cast<std::size_t>(shape_.size_of(step_));
  ++step_;
  return {.epoch = epoch_, .images = std::span<const std::int32_t>(order_).subspan(first, size)};
}

}  // namespace nocturne::data
