#include "tuner/campaign/search_state.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "tuner/campaign/finals/finalists.hpp"
#include "tuner/campaign/finals/target_finals.hpp"

namespace nocturne::tuner {
namespace {

/// Without its numbers: process ids, sizes and times differ between failures that are the same.
std::string kind_of(std::string_view reason) {
  std::string kind;
  for (const char each : reason) {
    const bool digit = each >= '0' && each <= '9';
    if (digit && kind.ends_with('#')) continue;
    kind += digit ? '#' : each;
  }
  return kind;
}

}  // namespace

SearchState::SearchState(const CampaignSpec& spec, const Clock& clock)
    : spec_(spec), clock_(clock), began_(clock.steady()), watch_(clock) {
  if (const auto& until = spec.budget.until) until_ = next_occurrence(*until, clock.wall());
}

void SearchState::asked(const db::AskAnswer& asked) {
  next_number_ = std::max(next_number_, asked.number + 1);
  in_flight_.insert_or_assign(asked.number, asked.configuration);
}

void SearchState::learn(const space::Trial& trial) {
  in_flight_.erase(trial.number);
  ++finished_;
  if (trial.outcome != space::Outcome::Ok) ++failed_;
  dead_end_.learn(trial);
  known_.insert(trial.configuration.identity());
  if (trial.number == 0) baseline_ = trial;
  if (trial.estimate && (!best_ || trial.estimate->value < best_->estimate->value)) best_ = trial;
  const bool is_best = best_ && best_->number == trial.number;
  is_new_best_ =
      is_best && (!announced_best_ || !within_noise(*announced_best_, *trial.estimate, spec_.run.trial_sd()));
  if (is_new_best_) announced_best_ = trial.estimate;
}

void SearchState::revise(const std::vector<space::Trial>& trials) {
  best_.reset();
  for (const space::Trial& trial : trials) {
    if (trial.number == 0) baseline_ = trial;
    if (trial.estimate && (!best_ || trial.estimate->value < best_->estimate->value)) best_ = trial;
  }
  if (best_) announced_best_ = best_->estimate;
}

void SearchState::took(std::int64_t number, std::chrono::nanoseconds duration, std::int64_t runs) {
  durations_.push_back(duration);
  run_times_[number] = duration / runs;
}

void SearchState::took_before(std::int64_t number, std::chrono::nanoseconds duration, std::int64_t runs) {
  took(number, duration, runs);
  spent_before_ += duration;
}

std::optional<std::string> SearchState::watch_clock() {
  auto happened = watch_.look();
  // Where the clock was wrong at the beginning, its next 07:00 was not the user's.
  if (const auto& until = spec_.budget.until; until && happened) until_ = next_occurrence(*until, watch_.began());
  return happened;
}

bool SearchState::knows(const space::Configuration& configuration) const {
  return known_.contains(configuration.identity());
}

bool SearchState::was_asked(const space::Configuration& configuration) const {
  return knows(configuration) ||
         std::ranges::any_of(in_flight_, [&](const auto& each) { return each.second == configuration; });
}

std::vector<space::Configuration> SearchState::in_flight() const {
  std::vector<space::Configuration> configurations;
  for (const auto& [number, configuration] : in_flight_) configurations.push_back(configuration);
  return configurations;
}

std::optional<space::Estimate> SearchState::incumbent() const {
  return best_ ? best_->estimate : std::nullopt;
}

std::chrono::nanoseconds SearchState::default_time() const {
  if (!baseline_ || !baseline_->parts) return {};
  // By its parts: its trial may have waited for a build.
  const space::Parts& parts = *baseline_->parts;
  const RunSettings& run = spec_.run;
  return forecast_of(static_cast<double>(run.repeats) *
                     (space::startup_time(parts) + static_cast<double>(run.steps) * parts.steady_step));
}

Pace SearchState::paced_by_its_run(const space::Trial& trial) const {
  const auto run = run_times_.find(trial.number);
  return pace_of(spec_, trial, run == run_times_.end() ? std::chrono::nanoseconds{0} : run->second);
}

PaceState SearchState::pace() const {
  const auto session = since_begin();
  PaceState state{.finished_trials = finished_,
                  .rivals = finished_ - failed_ - 1,
                  .spent = spent_before_ + session,
                  .session = session,
                  .next_trial = expected_trial(durations_),
                  .no_verdict = no_verdict_,
                  .verified = verified_};
  if (until_) state.until_left = *until_ - clock_.wall();
  if (baseline_ && baseline_->parts && best_ && best_->parts) {
    if (spec_.objective.target) {
      state.finals = forecast_trainings(*baseline_->parts, *best_->parts, kTrainings);
      state.verdict = forecast_trainings(*baseline_->parts, *best_->parts, kFewestVerdictPairs);
      state.choice = forecast_race(spec_.verify, paced_by_its_run(*best_));
      return state;
    }
    const Pace best = paced_by_its_run(*best_);
    const Pace baseline = paced_by_its_run(*baseline_);
    state.finals = forecast_finals(spec_.verify, baseline, best, whole_time(spec_.budget, state), pair_time_);
    state.verdict = forecast_verdict(spec_.verify, baseline, best, pair_time_);
    state.choice = forecast_choice(spec_.verify, best);
  }
  return state;
}

Progress SearchState::progress() const {
  const PaceState state = pace();
  Progress progress{.finished = finished_,
                    .failed = failed_,
                    .wanted = spec_.budget.trials,
                    .baseline = baseline_,
                    .best = best_,
                    .is_new_best = is_new_best_,
                    .elapsed = state.spent,
                    .left = time_left(spec_.budget, state)};
  if (progress.wanted) {
    const auto by_trials = state.next_trial * std::max<std::int64_t>(0, *progress.wanted - finished_) + state.finals;
    progress.left = progress.left ? std::min(*progress.left, by_trials) : by_trials;
  }
  return progress;
}

std::optional<std::chrono::nanoseconds> SearchState::preparation_time() const {
  // Of several pairs may show one to be the best even where the default still looks it.
  const PaceState state = pace();
  const bool is_to_verify = (best_ && best_->number != 0) || state.rivals >= kFewestRivals;
  return is_to_verify ? search_time_left(spec_.budget, state) : time_left(spec_.budget, state);
}

std::optional<std::chrono::nanoseconds> SearchState::run_limit() const {
  if (!baseline_ || !baseline_->parts) return std::nullopt;
  return tuner::run_limit(spec_.budget, pace(), forecast_of(paced_by_its_run(*baseline_).run_of(spec_.run.steps)));
}

bool SearchState::goes_on_after_finals() {
  verified_ = true;
  return !dead_end_.reached() && is_time_for_more(spec_.budget, pace());
}

std::optional<std::string> SearchState::is_over() const {
  if (auto hopeless = dead_end_.reached()) return hopeless;
  PaceState state = pace();
  state.finished_trials += std::ssize(in_flight_);
  return search_ends(spec_.budget, state);
}

void DeadEnd::learn(const space::Trial& trial) {
  if (open_ || trial.outcome == space::Outcome::Killed) return;
  open_ = trial.outcome == space::Outcome::Ok || (failures_ > 0 && kind_of(trial.reason) != kind_of(first_reason_));
  if (failures_++ == 0) first_reason_ = trial.reason;
}

std::optional<std::string> DeadEnd::reached() const {
  if (open_ || failures_ < kFailures) return std::nullopt;
  return fmt::format(
      "nothing works: the first {} trials, the default among them, all failed alike ({}); fix that and "
      "measure again with --fresh",
      failures_, first_reason_);
}

}  // namespace nocturne::tuner
