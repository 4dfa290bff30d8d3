#include "tuner/campaign/pair_limits.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "measure/run/event_reader.hpp"

namespace nocturne::tuner {
namespace {

std::int64_t longest_turn(const PairOrder& order) {
  return std::max(order.baseline.slice_steps, order.candidate.slice_steps);
}

}  // namespace

PairOrder PairLimits::fitted(PairOrder order) const {
  const std::int64_t longest = longest_turn(order);
  if (longest_ == 0 || longest <= longest_) return order;
  for (PairOrder::Side* side : {&order.baseline, &order.candidate})
    side->slice_steps = std::max<std::int64_t>(1, side->slice_steps * longest_ / longest);
  return order;
}

std::optional<std::string> PairLimits::learn(const PairOrder& order, const PairAnswer& answer) {
  for (const auto& [side, with] :
       {std::pair(&answer.pair.baseline, &order.baseline), std::pair(&answer.pair.candidate, &order.candidate)}) {
    const space::Run& run = side->run;
    if (run.outcome != space::Outcome::Failed || run.exit_code != 0) continue;
    const std::int64_t timed = measure::count_steps(run.samples), turn = std::max<std::int64_t>(1, with->slice_steps);
    // Of a script that leaves none out that is too few, never too many: it has begun at most as many turns as it has.
    const std::int64_t steps = timed + kLeftOut * ((timed + turn - 1) / turn);
    const std::int64_t fits = steps / std::max<std::int64_t>(1, order.slices) - kLeftOut;
    if (fits < 1 || fits >= longest_turn(order)) continue;
    longest_ = longest_ == 0 ? fits : std::min(longest_, fits);
    return fmt::format(
        "pair {}: the command ended by itself after {} timed steps: turns have {} steps from now on, not {}",
        order.index, timed, longest_, longest_turn(order));
  }
  return std::nullopt;
}

std::optional<std::string> failed_beside_the_other(const PairOrder& order, const PairAnswer& answer) {
  if (order.method == measure::PairMethod::Sequential) return std::nullopt;
  for (const space::Run* run : {&answer.pair.baseline.run, &answer.pair.candidate.run}) {
    if (run->outcome != space::Outcome::Failed || run->exit_code.value_or(0) == 0) continue;
    return fmt::format(
        "pair {}: a command that trained alone failed beside the other one, as where both want the same port or file: "
        "pairs are measured one after the other, which tells less in the same time ({})",
        order.index, run->reason);
  }
  return std::nullopt;
}

}  // namespace nocturne::tuner
