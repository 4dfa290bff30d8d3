#include "tuner/campaign/turn_limit.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "measure/run/event_reader.hpp"

namespace nocturne::tuner {
namespace {

std::int64_t longest_turn(const PairOrder& order) {
  return std::max(order.baseline.slice_steps, order.candidate.slice_steps);
}

}  // namespace

PairOrder TurnLimit::fitted(PairOrder order) const {
  const std::int64_t longest = longest_turn(order);
  if (longest_ == 0 || longest <= longest_) return order;
  for (PairOrder::Side* side : {&order.baseline, &order.candidate})
    side->slice_steps = std::max<std::int64_t>(1, side->slice_steps * longest_ / longest);
  return order;
}

std::optional<std::string> TurnLimit::learn(const PairOrder& order, const PairAnswer& answer) {
  for (const space::Run* run : {&answer.pair.baseline.run, &answer.pair.candidate.run}) {
    if (run->outcome != space::Outcome::Failed || run->exit_code != 0) continue;
    const std::int64_t steps = measure::count_steps(run->samples);
    const std::int64_t fits = steps / std::max<std::int64_t>(1, order.slices) - kLeftOut;
    if (fits < 1 || fits >= longest_turn(order)) continue;
    longest_ = longest_ == 0 ? fits : std::min(longest_, fits);
    return fmt::format("pair {}: the command ended by itself after {} steps: turns have {} steps from now on, not {}",
                       order.index, steps + 1, longest_, longest_turn(order));
  }
  return std::nullopt;
}

}  // namespace nocturne::tuner
