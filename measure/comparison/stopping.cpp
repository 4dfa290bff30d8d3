#include "measure/comparison/stopping.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "measure/comparison/planned_looks.hpp"

namespace nocturne::measure {
namespace {

/// Variance of the log of an estimate.
double log_variance_of(const space::Estimate& estimate, double process_sd) {
  const double within = estimate.value > 0 ? estimate.standard_error / estimate.value : 0;
  return process_sd * process_sd / std::max(1, estimate.runs) + within * within;
}

/// Planning costs milliseconds, and is asked for after each run. What is remembered is a function of its arguments.
const std::vector<Look>& planned_looks(int repeats, double error) {
  thread_local std::map<std::pair<int, double>, std::vector<Look>> known;
  auto& looks = known[{repeats, error}];
  if (looks.empty()) looks = plan_looks_known_scatter(1, repeats, 2 * error);
  return looks;
}

bool is_hopeless(const space::Estimate& estimate, const space::Estimate& incumbent, const StoppingOptions& options) {
  if (estimate.value <= incumbent.value || incumbent.value <= 0) return false;
  const auto& looks = planned_looks(options.repeats, options.error);
  const auto look = std::ranges::find(looks, estimate.runs, &Look::pairs);
  if (look == looks.end()) return false;  // none is planned here
  const double behind = std::log(estimate.value / incumbent.value);
  const double scatter =
      std::sqrt(log_variance_of(estimate, options.process_sd) + log_variance_of(incumbent, options.process_sd));
  return behind > normal_critical(look->confidence) * scatter;
}

}  // namespace

bool is_surprising(const space::Estimate& estimate, double expected_log, double log_sd) {
  return estimate.runs == 1 && estimate.value > 0 &&
         std::abs(std::log(estimate.value) - expected_log) > kSurprise * log_sd;
}

Decision needs_another_run(space::Outcome last, const std::optional<space::Estimate>& estimate,
                           const std::optional<space::Estimate>& incumbent, const StoppingOptions& options) {
  if (last == space::Outcome::Killed) return {true, "the last run was interrupted by us"};
  if (last != space::Outcome::Ok)
    return {false, fmt::format("the last run ended as {}: another would too", space::to_text(last))};
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
