#include "tuner/campaign/pacing.hpp"

#include <algorithm>
#include <cmath>

#include "measure/gate/learning.hpp"
#include "tuner/campaign/pair_limits.hpp"

namespace nocturne::tuner {
namespace {

using std::chrono::nanoseconds;

nanoseconds share(nanoseconds whole, double part) {
  return nanoseconds(static_cast<std::int64_t>(static_cast<double>(whole.count()) * part));
}

constexpr double kMargin = 1.2;  // process ends, evaluation on the test set; in what a whole run lasted, they are

/// Seconds that a process needs beside its start and its steps, at most, where epochs end in it too.
constexpr double kMostAround = 1;

/// Seconds until the first step is over.
double first_step(const space::Parts& parts) {
  return space::startup_time(parts) + parts.steady_step;
}

/// Epochs that end in so many steps after the first.
std::int64_t epochs_ended(const space::Parts& parts, std::int64_t steps) {
  if (!(parts.steps_per_epoch >= 1)) return 0;
  return static_cast<std::int64_t>(static_cast<double>(steps + 1) / parts.steps_per_epoch);
}

/// Whether time is kept for a verdict: where not even the shortest fits, all of it is the search's.
bool keeps_verdict(nanoseconds whole, const PaceState& state) {
  return !state.no_verdict && has_room(whole, state.verdict);
}

/// What is kept for the finals out of a stretch of time, of which so much is left.
nanoseconds reserve(nanoseconds whole, nanoseconds left, const PaceState& state) {
  whole = std::max(whole, nanoseconds{0});  // the machine slept past the hour
  if (!keeps_verdict(whole, state)) return nanoseconds{0};
  if (state.verified) {
    const bool fits = state.finals <= share(whole, kLargestReservedShare);
    return fits ? state.finals : share(std::max(left, nanoseconds{0}), kLargestReservedShare);
  }
  if (state.rivals < 1) return nanoseconds{0};
  const nanoseconds finals = state.finals + std::min(state.choice, share(whole, kChoiceShare));
  const auto kept = std::clamp(finals, share(whole, kReservedShare), share(whole, kLargestReservedShare));
  return state.rivals < kFewestRivals ? std::min(kept, share(state.verdict, kVerdictMargin)) : kept;
}

/// What is left for the search alone; empty: not bounded in that way.
struct SearchTime {
  std::optional<nanoseconds> of_wall, until;
};

SearchTime search_time(const Budget& budget, const PaceState& state) {
  SearchTime time;
  if (budget.wall) {
    const nanoseconds left = *budget.wall - state.spent;
    time.of_wall = left - reserve(*budget.wall, left, state);
  }
  if (state.until_left) {
    const nanoseconds left = *state.until_left;
    time.until = left - reserve(state.session + left, left, state);
  }
  return time;
}

/// The exact steps of the gate and of its reference, for the best and the default.
nanoseconds forecast_exact(const GateSettings& settings, const space::Parts& baseline) {
  // The references are no faster than the default, as a rule.
  return forecast_of(kMargin * 4 * (first_step(baseline) + static_cast<double>(settings.steps) * baseline.steady_step));
}

}  // namespace

int fewest_pairs(const VerifySettings& verify) {
  return std::min(verify.pairs, kFewestVerdictPairs);
}

int reserved_pairs(const VerifySettings& verify, std::optional<nanoseconds> whole, nanoseconds pair) {
  constexpr std::int64_t kForSearch = 60, kPlenty = 40;
  if (!whole || pair <= nanoseconds{0}) return verify.pairs;
  const std::int64_t most = verify.most_pairs_given ? verify.most_pairs : kPlenty;
  const std::int64_t wanted = std::min((*whole / pair - kForSearch) / 3, std::min(most, kPlenty));
  return static_cast<int>(std::max<std::int64_t>(verify.pairs, wanted));
}

measure::ComparisonPolicy planned_pairs(const VerifySettings& verify, std::optional<nanoseconds> whole,
                                        nanoseconds pair) {
  constexpr std::int64_t kMostEver = 200;  // beyond that the machine drifts, and the rest of the time is the search's
  measure::ComparisonPolicy policy = verify;
  if (verify.most_pairs_given || !whole || pair <= nanoseconds{0}) return policy;
  const auto kept = std::max<std::int64_t>(reserved_pairs(verify, whole, pair), share(*whole, kReservedShare) / pair);
  policy.most_pairs = static_cast<int>(std::max<std::int64_t>(policy.most_pairs, std::min(kept, kMostEver)));
  return policy;
}

bool TimeFrame::has_time_for(nanoseconds work, std::chrono::steady_clock::time_point now) const {
  return now + work <= end + share(whole, kOverrunShare);
}

nanoseconds forecast_of(double seconds) {
  constexpr double kMost = 1e15;  // nanoseconds
  return nanoseconds(static_cast<std::int64_t>(std::clamp(seconds * 1e9, 0.0, kMost)));
}

std::optional<nanoseconds> time_left(const Budget& budget, const PaceState& state) {
  std::optional<nanoseconds> left = state.until_left;
  if (budget.wall) {
    const nanoseconds of_wall = *budget.wall - state.spent;
    left = left ? std::min(*left, of_wall) : of_wall;
  }
  return left;
}

std::optional<nanoseconds> search_time_left(const Budget& budget, const PaceState& state) {
  const SearchTime left = search_time(budget, state);
  if (!left.of_wall || !left.until) return left.of_wall ? left.of_wall : left.until;
  return std::min(*left.of_wall, *left.until);
}

std::optional<nanoseconds> run_limit(const Budget& budget, const PaceState& state, nanoseconds of_default) {
  const auto whole = whole_time(budget, state), left = time_left(budget, state);
  if (!left) return std::nullopt;
  const bool is_kept = !state.verified && keeps_verdict(*whole, state);
  return std::max(*left - (is_kept ? share(state.verdict, kVerdictMargin) : nanoseconds{0}), kPatience * of_default);
}

std::optional<nanoseconds> whole_time(const Budget& budget, const PaceState& state) {
  const auto left = time_left(budget, state);
  return left ? std::optional(state.spent + *left) : std::nullopt;
}

std::optional<TimeFrame> time_frame(const Budget& budget, const PaceState& state,
                                    std::chrono::steady_clock::time_point now) {
  auto left = time_left(budget, state);
  if (!left) return std::nullopt;
  if (state.until_left && *state.until_left < nanoseconds{0}) {
    left = state.finals;
    if (budget.wall) left = std::min(*left, *budget.wall - state.spent);
  }
  return TimeFrame{.whole = state.spent + *left, .end = now + *left};
}

std::optional<std::string> search_ends(const Budget& budget, const PaceState& state) {
  if (budget.trials && state.finished_trials >= *budget.trials) return "the budget of trials is used";
  const SearchTime left = search_time(budget, state);
  if (left.of_wall && state.next_trial > *left.of_wall)
    return "the rest of the budget's time is for measuring the best again";
  if (left.until && state.next_trial > *left.until)
    return "the time until the hour the campaign names is for measuring the best again";
  return std::nullopt;
}

bool is_time_for_more(const Budget& budget, PaceState state) {
  if (!time_left(budget, state)) return false;
  state.verified = true;
  // Several more trials have to fit, or the finals would be repeated for one.
  const nanoseconds before_the_last = (kFewestMoreTrials - 1) * state.next_trial;
  state.spent += before_the_last;
  state.session += before_the_last;
  if (state.until_left) *state.until_left -= before_the_last;
  return !search_ends(budget, state);
}

std::optional<std::int64_t> trials_in_budget(const Budget& budget, const PaceState& state) {
  std::optional<std::int64_t> trials = budget.trials;
  const SearchTime left = search_time(budget, state);
  for (const auto& each : {left.of_wall, left.until}) {
    if (!each || state.next_trial <= nanoseconds{0}) continue;
    const std::int64_t fit = state.finished_trials + std::max(*each, nanoseconds{0}) / state.next_trial;
    trials = std::min(trials.value_or(fit), fit);
  }
  return trials;
}

nanoseconds expected_trial(std::span<const nanoseconds> durations) {
  if (durations.empty()) return nanoseconds{0};
  const auto recent = durations.last(std::min(durations.size(), kRecentTrials));
  nanoseconds sum{0};
  for (const nanoseconds duration : recent) sum += duration;
  return sum / static_cast<std::int64_t>(recent.size());
}

nanoseconds plausible_duration(nanoseconds between, std::int64_t runs, nanoseconds deadline) {
  constexpr std::chrono::seconds kAround{30};  // start and end of a process, a database that is busy
  return std::clamp(between, nanoseconds{0}, std::max<std::int64_t>(runs, 1) * (deadline + kAround));
}

Pace pace_of(const space::Parts& parts) {
  return {.parts = parts, .turn_step = parts.steady_step};
}

double Pace::run_of(std::int64_t steps) const {
  if (whole_run) return *whole_run;
  return first_step(parts) + static_cast<double>(steps) * turn_step + around +
         static_cast<double>(epochs_ended(parts, steps)) * evaluation;
}

Pace pace_of(const measure::CommandTemplate& own, const space::Trial& trial, nanoseconds run) {
  Pace result = pace_of(*trial.parts);
  if (own.empty()) return result;
  const double lasted = std::chrono::duration<double>(run).count();
  const auto steps = trial.fidelity.steps;
  if (own.whole()) {
    // A process that is timed as a whole is one step; a clock that was set says less than that.
    result.whole_run = std::max(lasted, trial.parts->steady_step);
  } else if (own.timing == measure::Timing::Steps) {
    // Of some tens of steps a second beside them is much: spread over each, it would be a minute of a pair's.
    const double beside = std::max(0.0, lasted - result.run_of(steps));
    const auto evaluations = epochs_ended(*trial.parts, steps);
    const double most = evaluations > 0 ? kMostAround + space::startup_time(*trial.parts) : beside;
    result.around = std::min(beside, most);
    result.left_out = PairLimits::kLeftOut;
    if (evaluations > 0) result.evaluation = (beside - result.around) / static_cast<double>(evaluations);
  } else if (steps > 0) {
    const double lines = (lasted - first_step(*trial.parts)) / static_cast<double>(steps);
    result.turn_step = std::max(result.turn_step, lines);
  }
  return result;
}

Pace pace_of(const measure::CommandTemplate& own, nanoseconds deadline, const db::StoredTrial& stored) {
  const nanoseconds between(stored.finished_unix_ns.value_or(stored.reserved_unix_ns) - stored.reserved_unix_ns);
  const auto runs = std::max<std::int64_t>(stored.runs, 1);
  return pace_of(own, stored.trial, plausible_duration(between, runs, deadline) / runs);
}

Pace pace_of(const CampaignSpec& spec, const space::Trial& trial, nanoseconds run) {
  return pace_of(spec.worker.own, trial, run);
}

Pace pace_of(const CampaignSpec& spec, const db::StoredTrial& stored) {
  return pace_of(spec.worker.own, spec.run.deadline, stored);
}

nanoseconds forecast_trial(const RunSettings& run, const Pace& configuration) {
  return forecast_of(kMargin * run.repeats * configuration.run_of(run.steps));
}

nanoseconds forecast_pair(const VerifySettings& verify, const Pace& baseline, const Pace& candidate) {
  const SliceSteps steps = slice_steps(verify, baseline.parts, candidate.parts);
  const auto side = [&](const Pace& each, std::int64_t turn) {
    return each.whole_run ? *each.whole_run : kMargin * each.run_of(verify.slices * (turn + each.left_out));
  };
  return forecast_of(side(baseline, steps.baseline) + side(candidate, steps.candidate));
}

nanoseconds forecast_accuracy(const VerifySettings& verify, const space::Parts& parts) {
  const auto epochs = static_cast<double>(verify.accuracy_epochs);
  return epochs > 0 ? forecast_of(kMargin * space::total_time(parts, epochs)) : nanoseconds{0};
}

nanoseconds forecast_accuracy(const VerifySettings& verify, const space::Parts& baseline, const space::Parts& best) {
  return forecast_accuracy(verify, baseline) + forecast_accuracy(verify, best);
}

nanoseconds reserved_accuracy(const VerifySettings& verify, const space::Parts& baseline, const space::Parts& best,
                              std::optional<nanoseconds> whole) {
  const nanoseconds both = forecast_accuracy(verify, baseline, best);
  return whole && both > share(*whole, kAccuracyShare) ? nanoseconds{0} : both;
}

std::int64_t band_seeds(const space::Parts& baseline, std::optional<nanoseconds> whole) {
  if (!whole) return 0;
  const double share_of_time = kBandShare * std::chrono::duration<double>(*whole).count();
  return kBandSeeds * space::total_time(baseline, 1) <= share_of_time ? kBandSeeds : 0;
}

nanoseconds forecast_band(const VerifySettings& verify, const space::Parts& baseline,
                          std::optional<nanoseconds> whole) {
  if (!verify.gate.on || verify.accuracy_epochs == 0) return nanoseconds{0};
  const std::int64_t seeds = verify.gate.seeds.value_or(band_seeds(baseline, whole));
  return forecast_of(kMargin * static_cast<double>(seeds) * space::total_time(baseline, 1));
}

std::int64_t learning_steps(const space::Parts& reference, std::optional<nanoseconds> whole) {
  constexpr auto kMost = static_cast<std::int64_t>(measure::kLearningSteps);
  constexpr auto kFewest = static_cast<std::int64_t>(measure::kFewestLearningSteps);
  std::int64_t steps = kMost;
  while (whole && steps > kFewest && forecast_learning(reference, steps) > share(*whole, kLearningShare)) --steps;
  return steps;
}

nanoseconds forecast_learning(const space::Parts& reference, std::int64_t longer_steps) {
  const auto lasts = [&](std::size_t runs, std::int64_t steps) {
    return static_cast<double>(runs) * (first_step(reference) + static_cast<double>(steps) * reference.steady_step);
  };
  const double starts = lasts(1 + measure::kReferenceStarts, measure::kStartSteps);
  const double longer_ones = longer_steps > 0 ? lasts(1 + measure::kLearningReferences, longer_steps) : 0;
  return forecast_of(kMargin * (starts + longer_ones));
}

nanoseconds forecast_gate(const VerifySettings& verify, const space::Parts& baseline,
                          std::optional<nanoseconds> whole) {
  const GateSettings& settings = verify.gate;
  if (settings.learning) {
    const nanoseconds learning = forecast_learning(baseline, learning_steps(baseline, whole));
    return whole && learning > share(*whole, kLearningShare) ? nanoseconds{0} : learning;
  }
  if (!settings.on) return nanoseconds{0};
  return forecast_exact(settings, baseline) + forecast_band(verify, baseline, whole);
}

nanoseconds forecast_finals(const VerifySettings& verify, const Pace& baseline, const Pace& best,
                            std::optional<nanoseconds> whole, std::optional<nanoseconds> pair) {
  const nanoseconds of_pair = pair.value_or(forecast_pair(verify, baseline, best));
  return of_pair * reserved_pairs(verify, whole, of_pair) +
         reserved_accuracy(verify, baseline.parts, best.parts, whole) + forecast_gate(verify, baseline.parts, whole);
}

nanoseconds forecast_verdict(const VerifySettings& verify, const Pace& baseline, const Pace& best,
                             std::optional<nanoseconds> pair) {
  const nanoseconds pairs = pair.value_or(forecast_pair(verify, baseline, best)) * fewest_pairs(verify);
  if (verify.gate.learning) return pairs + forecast_learning(baseline.parts, 0);
  return verify.gate.on ? pairs + forecast_exact(verify.gate, baseline.parts) : pairs;
}

bool has_room(nanoseconds whole, nanoseconds verdict) {
  return verdict <= share(whole, kLargestReservedShare);
}

std::chrono::minutes wall_for(nanoseconds verdict, nanoseconds spent) {
  return std::chrono::ceil<std::chrono::minutes>(std::max(verdict * 5 / 2, spent + verdict * 5 / 4));
}

nanoseconds forecast_race(const VerifySettings& verify, const Pace& best) {
  constexpr int kUsual = 12;  // what a race of a few finalists takes; one of many takes what time is left
  return forecast_pair(verify, best, best) * (verify.finalists > 1 ? std::min(verify.selection_pairs, kUsual) : 0);
}

nanoseconds forecast_choice(const VerifySettings& verify, const Pace& best) {
  return forecast_race(verify, best) + forecast_pair(verify, best, best) * (verify.simplify ? verify.pairs : 0);
}

nanoseconds forecast_trainings(const space::Parts& baseline, const space::Parts& candidate, std::int64_t count) {
  return forecast_of(kMargin * kEvaluations * static_cast<double>(count) *
                     (space::total_time(baseline, 1) + space::total_time(candidate, 1)));
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
