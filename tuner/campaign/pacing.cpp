#include "tuner/campaign/pacing.hpp"

#include <algorithm>
#include <cmath>

namespace nocturne::tuner {
namespace {

using std::chrono::nanoseconds;

nanoseconds share(nanoseconds whole, double part) {
  return nanoseconds(static_cast<std::int64_t>(static_cast<double>(whole.count()) * part));
}

nanoseconds seconds(double value) {
  return nanoseconds(static_cast<std::int64_t>(value * 1e9));
}

double startup(const space::Parts& parts) {
  return parts.import + parts.data + parts.compile + parts.first_step_excess + parts.steady_step;
}

/// What is kept for the finals out of a stretch of time.
nanoseconds reserve(nanoseconds whole, nanoseconds finals) {
  return std::clamp(finals, share(whole, kReservedShare), share(whole, kLargestReservedShare));
}

}  // namespace

std::optional<nanoseconds> time_left(const Budget& budget, const PaceState& state) {
  std::optional<nanoseconds> left = state.until_left;
  if (budget.wall) {
    const nanoseconds of_wall = *budget.wall - state.spent;
    left = left ? std::min(*left, of_wall) : of_wall;
  }
  return left;
}

std::optional<std::string> search_ends(const Budget& budget, const PaceState& state) {
  if (budget.trials && state.finished_trials >= *budget.trials) return "the budget of trials is used";
  if (budget.wall && state.spent + state.next_trial + reserve(*budget.wall, state.finals) > *budget.wall) {
    return "the rest of the budget's time is for measuring the best again";
  }
  if (state.until_left) {
    const nanoseconds whole = state.sitting + *state.until_left;
    if (state.next_trial + reserve(whole, state.finals) > *state.until_left) {
      return "the time until the hour the campaign names is for measuring the best again";
    }
  }
  return std::nullopt;
}

nanoseconds expected_trial(std::span<const nanoseconds> durations) {
  if (durations.empty()) return nanoseconds{0};
  const auto recent = durations.last(std::min<std::size_t>(durations.size(), 20));
  nanoseconds sum{0};
  for (const nanoseconds duration : recent) sum += duration;
  return sum / static_cast<std::int64_t>(recent.size());
}

nanoseconds forecast_finals(const VerifySettings& verify, const space::Parts& baseline, const space::Parts& best) {
  const SliceSteps steps = slice_steps(verify, baseline, best);
  const double slices = verify.slices;
  const double pair = startup(baseline) + startup(best) +
                      slices * (static_cast<double>(steps.baseline) * baseline.steady_step +
                                static_cast<double>(steps.candidate) * best.steady_step);
  const auto epochs = static_cast<double>(verify.accuracy_epochs);
  const double accuracy = epochs > 0 ? space::total_time(baseline, epochs) + space::total_time(best, epochs) : 0;
  constexpr double kMargin = 1.2;  // process ends, evaluation on the test set
  return seconds(kMargin * (verify.pairs * pair + accuracy));
}

SliceSteps slice_steps(const VerifySettings& verify, const space::Parts& baseline, const space::Parts& candidate) {
  SliceSteps steps{verify.slice_steps, verify.slice_steps};
  if (baseline.steady_step <= 0 || candidate.steady_step <= 0) return steps;
  const double slower = std::max(baseline.steady_step, candidate.steady_step);
  // A turn longer than 64 steps would let the machine drift between the neighbours that are compared.
  const auto fitted = [&](double step) {
    return std::clamp<std::int64_t>(std::llround(static_cast<double>(verify.slice_steps) * slower / step),
                                    verify.slice_steps, std::max<std::int64_t>(64, verify.slice_steps));
  };
  steps.baseline = fitted(baseline.steady_step);
  steps.candidate = fitted(candidate.steady_step);
  return steps;
}

}  // namespace nocturne::tuner
