#include "measure/comparison/stopping.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace nocturne::measure {
namespace {

bool is_hopeless(const space::Estimate& estimate, const space::Estimate& incumbent, const StoppingOptions& options) {
  const double best_case = estimate.value - options.hopeless_errors * estimate.standard_error;
  const double to_beat = incumbent.value + options.hopeless_errors * incumbent.standard_error;
  const bool single = std::min(estimate.runs, incumbent.runs) < 2;
  return best_case > to_beat && (!single || estimate.value > incumbent.value * (1 + options.single_run_margin));
}

}  // namespace

Decision needs_another_run(space::Outcome last, const std::optional<space::Estimate>& estimate,
                           const std::optional<space::Estimate>& incumbent, const StoppingOptions& options) {
  if (last == space::Outcome::Killed) return {true, "the last run was interrupted by us"};
  if (last != space::Outcome::Ok) {
    return {false, fmt::format("the last run ended as {}: another would too", space::to_text(last))};
  }
  const int repeats = std::max(1, options.repeats);
  if (!estimate) return {true, "nothing has been measured yet"};
  if (estimate->runs >= repeats) return {false, fmt::format("it has its {} runs", repeats)};
  if (incumbent && is_hopeless(*estimate, *incumbent, options)) {
    return {false, fmt::format("after {} of {} runs it is surely slower than the best ({:.4g} s against {:.4g} s)",
                               estimate->runs, repeats, estimate->value, incumbent->value)};
  }
  return {true, fmt::format("it has {} of {} runs", estimate->runs, repeats)};
}

}  // namespace nocturne::measure
