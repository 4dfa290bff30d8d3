#include "tuner/deploy/canary.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "measure/comparison/disturbance.hpp"
#include "measure/comparison/noise.hpp"
#include "measure/comparison/statistics.hpp"

namespace nocturne::deploy {
namespace {

/// Share of the time of the steps in which they waited for their data.
double waiting_share(const space::Run& run) {
  std::chrono::nanoseconds wall{}, waited{};
  for (const space::Sample& sample : run.samples) {
    wall += sample.wall;
    waited += sample.data_wait;
  }
  return wall.count() <= 0 ? 0 : std::chrono::duration<double>(waited) / std::chrono::duration<double>(wall);
}

}  // namespace

std::string_view to_text(CanaryFinding finding) {
  switch (finding) {
    case CanaryFinding::AsMeasured:
      return "as measured";
    case CanaryFinding::Slower:
      return "slower than measured";
    case CanaryFinding::SlowerThanDefault:
      break;
  }
  return "slower than the default";
}

std::optional<Canary> judge(const CanaryWindow& window, const CanaryLimits& limits) {
  const auto step = measure::judged_step(measure::step_seconds(window.run), measure::StepEstimator::Median);
  if (!step) return std::nullopt;
  Canary canary{.seconds = *step};
  if (*step <= limits.measured.limit()) return canary;
  const bool beyond_default = limits.of_default && *step > limits.of_default->limit();
  canary.finding = beyond_default ? CanaryFinding::SlowerThanDefault : CanaryFinding::Slower;
  canary.reasons = measure::disturbances(window.run);
  if (window.cpu_held_back) canary.reasons.emplace_back("a processor lowered its clock for heat");
  // Only where it would be fast without: a step that always waits a little was measured so.
  if (const double share = waiting_share(window.run); *step * (1 - share) <= limits.measured.limit()) {
    canary.reasons.push_back(
        fmt::format("it waits {:.0f} % of a step for its data, which may be read for the first time", 100 * share));
  }
  canary.explained = !canary.reasons.empty();
  canary.reasons.insert(canary.reasons.end(), window.differences.begin(), window.differences.end());
  return canary;
}

std::string sentence_of(const Canary& canary, const CanaryLimits& limits) {
  std::string text = fmt::format(
      "a step takes {:.3g} s; {:.3g} s were measured, and at most {:.3g} s are expected of a new process ({:g} %)",
      canary.seconds, limits.measured.seconds, limits.measured.limit(), 100 * kForecastConfidence);
  if (canary.finding == CanaryFinding::AsMeasured) return text;
  if (canary.finding == CanaryFinding::SlowerThanDefault)
    text += fmt::format(", at most {:.3g} s of the default", limits.of_default->limit());
  return text + (canary.reasons.empty() ? "; nothing that was looked at explains it"
                                        : fmt::format("; {}", fmt::join(canary.reasons, "; ")));
}

}  // namespace nocturne::deploy
