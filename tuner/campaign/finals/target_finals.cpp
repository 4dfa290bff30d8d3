#include "tuner/campaign/finals/target_finals.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "measure/accuracy/time_to_accuracy.hpp"
#include "measure/comparison/comparison.hpp"
#include "tuner/campaign/finals/beliefs.hpp"
#include "tuner/campaign/finals/comparing.hpp"
#include "tuner/campaign/finals/finalist_race.hpp"
#include "tuner/campaign/finals/stored_pairs.hpp"
#include "tuner/campaign/pacing.hpp"
#include "tuner/campaign/trial_runner.hpp"

namespace nocturne::tuner {
namespace {

/// So many of the best that are not right, or not there in time, share what makes them look fast.
constexpr int kMostOthers = 20;

/// All that it did until its last evaluation.
double seconds_in_vain(const space::Run& run) {
  space::Run whole = run;
  if (!whole.curve.empty()) whole.curve.back().test.accuracy = 1;
  return measure::seconds_to_accuracy(whole, 1).value_or(0);
}

}  // namespace

std::vector<double> target_log_ratios(const db::Store& store, const db::StoredComparison& comparison, double accuracy) {
  std::vector<double> ratios;
  for (const db::StoredPair& pair : comparison.pairs) {
    const space::Run baseline = store.load_run(pair.baseline_run).record.run;
    const auto candidate = measure::seconds_to_accuracy(store.load_run(pair.candidate_run).record.run, accuracy);
    const double usual = measure::seconds_to_accuracy(baseline, accuracy).value_or(seconds_in_vain(baseline));
    if (candidate && *candidate > 0 && usual > 0) ratios.push_back(std::log(usual / *candidate));
  }
  return ratios;
}

bool TargetFinals::run() {
  const auto baseline = session_.store.load_numbered_trial(session_.campaign, 0);
  if (baseline.trial.outcome != space::Outcome::Ok || !curves_.known().accuracy) return true;
  const auto of_default = gate_.admits(baseline);
  if (of_default == Admission::Interrupted) return false;
  if (of_default == Admission::Refused) return true;
  for (int others = 0; others < kMostOthers; ++others) {
    const End end = judge_best(session_.store.load_numbered_trial(session_.campaign, 0));
    if (end != End::Another) return end == End::Done;
  }
  return true;
}

TargetFinals::End TargetFinals::judge_best(const db::StoredTrial& baseline) {
  auto winner = choose(baseline);
  if (!winner) return winner.error();
  const auto admission = gate_.admits(*winner);
  if (admission == Admission::Interrupted) return End::Interrupted;
  if (admission == Admission::Refused) return End::Another;
  const End end = train_pairs(baseline, *winner);
  if (end != End::Done || ++judged_ >= kMostWinners) return end;
  if (!is_shown_slower(session_, baseline, winner->trial.configuration)) return End::Done;
  if (!has_time(baseline, *winner, kFewestVerdictPairs)) return End::Done;
  say_another_is_chosen(session_, *winner);
  return End::Another;
}

std::optional<db::StoredTrial> TargetFinals::begun(const db::StoredTrial& baseline) const {
  std::int64_t searched = 0;  // until then
  const auto trials = session_.store.list_trials({.campaign = session_.campaign, .state = db::TrialState::Finished});
  for (const db::StoredTrial& each : trials) searched = std::max(searched, each.reserved_unix_ns);
  for (const db::StoredComparison& each : session_.store.comparisons(session_.campaign)) {
    if (each.record.role != kVerifyRole || each.record.baseline != baseline.trial.configuration) continue;
    if (each.pairs.empty() || !each.verdicts.empty() || each.started_unix_ns < searched) continue;
    if (auto trial = session_.store.first_ok(session_.campaign, each.record.candidate)) return trial;
  }
  return std::nullopt;
}

std::expected<db::StoredTrial, TargetFinals::End> TargetFinals::choose(const db::StoredTrial& baseline) {
  if (auto winner = begun(baseline)) {
    session_.observer.chosen(winner->trial);
    return *std::move(winner);
  }
  const auto trials = session_.store.list_trials({.campaign = session_.campaign, .state = db::TrialState::Finished});
  auto beliefs = beliefs_of_rivals(session_, trials, baseline);
  auto first = choose_finalists(trials, beliefs, 1);
  if (first.empty()) return std::unexpected(End::Done);
  if (!has_own_curve(trials[first.front().trial])) {
    // What others let expect chose it: its own curve may say something else.
    if (const auto epochs = epochs_to_draw(baseline, trials, beliefs, first.front().trial))
      return std::unexpected(draw_its_own(trials[first.front().trial], *epochs));
    for (std::size_t i = 0; i < trials.size(); ++i)
      if (!has_own_curve(trials[i])) beliefs[i].reset();
    first = choose_finalists(trials, beliefs, 1);
    if (first.empty()) return std::unexpected(End::Done);
  }
  const int pairs = pairs_to_choose(baseline, trials[first.front().trial]);
  // Each takes part in two pairs on average, or they tell nothing.
  auto finalists = choose_finalists(
      trials, beliefs, static_cast<std::size_t>(std::max(1, std::min(session_.spec.verify.finalists, pairs))));
  std::erase_if(finalists, [&](const Finalist& each) { return !has_own_curve(trials[each.trial]); });
  auto chosen = race(baseline, trials, finalists, pairs);
  if (!chosen) return std::unexpected(session_.interruption.requested() ? End::Interrupted : End::Done);
  if (chosen->id != baseline.id) return *std::move(chosen);
  // Where another one is shown as the best, its trainings say that it is not.
  auto smallest = session_.store.best(session_.campaign);
  if (!smallest || smallest->id == baseline.id || !has_own_curve(*smallest) ||
      is_shown_slower(session_, baseline, smallest->trial.configuration))
    return std::unexpected(End::Done);
  session_.observer.chosen(smallest->trial);
  return *std::move(smallest);
}

bool TargetFinals::has_own_curve(const db::StoredTrial& trial) const {
  return curves_.known().standing_of(trial.trial.configuration).own;
}

std::optional<std::int64_t> TargetFinals::epochs_to_draw(const db::StoredTrial& baseline,
                                                         std::span<const db::StoredTrial> trials,
                                                         std::span<const std::optional<Belief>> beliefs,
                                                         std::size_t of) const {
  std::optional<std::size_t> leader;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (!beliefs[i] || !has_own_curve(trials[i])) continue;
    if (!leader || beliefs[i]->log_time < beliefs[*leader]->log_time) leader = i;
  }
  const space::Configuration& configuration = trials[of].trial.configuration;
  const auto steps = steps_of_epoch(session_.spec.worker, session_.spec.workload, configuration);
  const space::AccuracyTarget& target = *session_.spec.objective.target;
  std::int64_t epochs = target.most_epochs;
  if (leader && steps) {
    const double of_curve = curves_.known().standing_of(trials[*leader].trial.configuration).epochs.log_sd;
    epochs = measure::epochs_worth(epoch_times(trials[of].trial, *steps, session_.spec.run.process_sd),
                                   beliefs[*leader]->log_time, std::hypot(beliefs[*leader]->error, of_curve),
                                   curve_policy(target));
  }
  const auto fits = [&](std::int64_t trainings, std::chrono::nanoseconds curve) {
    return has_time(baseline, trials[of], trainings, curve);
  };
  const auto curve = curves_.forecast_for(configuration, epochs);
  const bool is_verdict_lost = fits(kFewestVerdictPairs, {}) && !fits(kFewestVerdictPairs, curve);
  return is_verdict_lost ? std::nullopt : std::optional(epochs);
}

TargetFinals::End TargetFinals::draw_its_own(const db::StoredTrial& trial, std::int64_t most_epochs) {
  const bool drawn = curves_.draw_for(trial.trial.configuration, most_epochs);
  if (!drawn && session_.interruption.requested()) return End::Interrupted;
  recompose_();
  if (!has_own_curve(trial)) refuse(trial, "no learning curve of its own could be drawn");
  return End::Another;
}

int TargetFinals::pairs_to_choose(const db::StoredTrial& baseline, const db::StoredTrial& fastest) const {
  const VerifySettings& verify = session_.spec.verify;
  const auto pair = forecast_pair(verify, pace_of(session_.spec, fastest), pace_of(session_.spec, fastest));
  int pairs = verify.selection_pairs;
  while (pairs > 0 && !has_time(baseline, fastest, kTrainings, pair * pairs)) --pairs;
  return pairs;
}

std::optional<db::StoredTrial> TargetFinals::race(const db::StoredTrial& baseline,
                                                  const std::vector<db::StoredTrial>& trials,
                                                  const std::vector<Finalist>& finalists, int pairs) {
  const db::StoredTrial& fastest = trials[finalists.front().trial];
  if (finalists.size() < 2) {
    if (fastest.id != baseline.id) session_.observer.chosen(fastest.trial);
    return fastest;
  }
  const auto to_target = [this](const auto& configuration, const space::Parts& parts) {
    return curves_.to_target(configuration, parts);
  };
  FinalistRace contest(session_, trials, finalists, nullptr, to_target);
  const auto winner = contest.run(
      pairs, [&](std::chrono::nanoseconds pair) { return has_time(baseline, fastest, kFewestVerdictPairs, pair); });
  return winner ? std::optional(trials[*winner]) : std::nullopt;
}

bool TargetFinals::has_time(const db::StoredTrial& baseline, const db::StoredTrial& candidate, std::int64_t trainings,
                            std::chrono::nanoseconds before) const {
  const auto work = before + forecast_trainings(*baseline.trial.parts, *candidate.trial.parts, trainings);
  return !time_ || time_->has_time_for(work, session_.clock.steady());
}

db::StoredComparison TargetFinals::comparison_of(const db::StoredTrial& baseline, const db::StoredTrial& candidate) {
  if (auto known = find_comparison(session_.store, session_.campaign, kVerifyRole, baseline.trial.configuration,
                                   candidate.trial.configuration))
    return *std::move(known);
  const db::ComparisonRecord record{.campaign = session_.campaign,
                                    .candidate = candidate.trial.configuration,
                                    .baseline = baseline.trial.configuration,
                                    .role = kVerifyRole,
                                    .method = "sequential",
                                    .estimator = "median"};
  return {.id = session_.store.begin_comparison(record), .record = record};
}

TargetFinals::End TargetFinals::train_pairs(const db::StoredTrial& baseline, const db::StoredTrial& candidate) {
  const db::ComparisonId id = comparison_of(baseline, candidate).id;
  std::int64_t missing = 0;
  for (;;) {
    const auto comparison = comparison_of(baseline, candidate);
    const std::int64_t pairs = std::ssize(comparison.pairs);
    // With what the trainings so far say of the epochs that another one takes.
    const auto usual = session_.store.load_numbered_trial(session_.campaign, baseline.trial.number);
    const auto faster = session_.store.load_numbered_trial(session_.campaign, candidate.trial.number);
    const std::int64_t fewest = std::max<std::int64_t>(1, kFewestVerdictPairs - pairs);
    if (pairs >= kTrainings || !has_time(usual, faster, pairs < kFewestVerdictPairs ? fewest : 1))
      return save_verdict(candidate, comparison);
    if (session_.interruption.requested()) return End::Interrupted;
    session_.observer.verifying(pairs, kTrainings);
    const Trained trained = train_pair(baseline, candidate, id, pairs + missing);
    if (trained == Trained::Interrupted) return End::Interrupted;
    curves_.learn_trainings();
    recompose_();
    if (trained == Trained::NoBaseline) return save_verdict(candidate, comparison);
    if (trained == Trained::Stored) continue;
    // One may be bad luck, and is luck that the user would have, too.
    if (++missing < 2) continue;
    refuse(candidate, fmt::format("two of {} trainings did not reach {:.2f} % in {} epochs", pairs + missing,
                                  100 * *curves_.known().accuracy, session_.spec.objective.target->most_epochs));
    return End::Another;
  }
}

std::optional<db::RunRecord> TargetFinals::train(const db::StoredTrial& trial, std::int64_t index) {
  const auto prepared = session_.prepare(trial.trial.configuration);
  if (!prepared) return std::nullopt;
  const std::int64_t epochs = session_.spec.objective.target->most_epochs;
  const double expected = space::total_time(*trial.trial.parts, 1);
  const GateOrder order{.configuration = trial.trial.configuration,
                        .run = {.purpose = space::Purpose::Verify,
                                .epochs = epochs,
                                .seed = session_.spec.run.seed + kFreshSeeds + static_cast<std::uint64_t>(index),
                                .deadline = std::max<std::chrono::nanoseconds>(
                                    session_.spec.run.deadline, forecast_of(10 * expected) + std::chrono::minutes(1)),
                                .curve = curve_request(*session_.spec.objective.target, curves_.known().accuracy)}};
  auto answer = carry_out(order, *prepared, session_.workplace(), [](const db::RunRecord&) {});
  if (answer.end != OrderEnd::Finished) return std::nullopt;
  return std::move(answer.run);
}

TargetFinals::Trained TargetFinals::train_pair(const db::StoredTrial& baseline, const db::StoredTrial& candidate,
                                               db::ComparisonId comparison, std::int64_t index) {
  const bool candidate_first = index % 2 == 1;
  std::array<const db::StoredTrial*, 2> order = {&baseline, &candidate};
  if (candidate_first) std::swap(order[0], order[1]);
  db::PairRecord pair{.index = index,
                      .first = candidate_first ? db::Side::Candidate : db::Side::Baseline,
                      .candidate_trial = candidate.id,
                      .baseline_trial = baseline.id};
  for (const db::StoredTrial* side : order) {
    auto run = train(*side, index);
    if (session_.interruption.requested()) return Trained::Interrupted;
    if (!run) return side == &candidate ? Trained::Missed : Trained::NoBaseline;
    (side == &candidate ? pair.candidate : pair.baseline) = *std::move(run);
  }
  const auto seconds = measure::seconds_to_accuracy(pair.candidate.run, *curves_.known().accuracy);
  const bool has_baseline = pair.baseline.run.outcome == space::Outcome::Ok && !pair.baseline.run.curve.empty();
  if (has_baseline && seconds && pair.candidate.run.outcome == space::Outcome::Ok) {
    session_.store.add_pair(comparison, pair);
    return Trained::Stored;
  }
  session_.store.add_run(baseline.id, pair.baseline);
  session_.store.add_run(candidate.id, pair.candidate);
  return has_baseline ? Trained::Missed : Trained::NoBaseline;
}

TargetFinals::End TargetFinals::save_verdict(const db::StoredTrial& candidate, const db::StoredComparison& comparison) {
  const auto ratios = target_log_ratios(session_.store, comparison, *curves_.known().accuracy);
  no_verdict_ = std::ssize(ratios) < kFewestVerdictPairs;
  if (no_verdict_) {
    session_.observer.note(fmt::format("no time to train trial {} and the default to the target {} times",
                                       candidate.trial.number, kFewestVerdictPairs));
    return End::Done;
  }
  const auto compared = measure::compare(
      ratios, {.margin_percent = session_.spec.verify.margin_percent, .confidence = kStatedConfidence});
  db::VerdictRecord verdict = verdict_record(compared, comparison.id, session_.spec.objective.primary);
  verdict.primary = true;
  session_.store.save_verdict(verdict);
  session_.observer.pair_finished(compared.pairs, compared.pairs, compared);
  return End::Done;
}

void TargetFinals::refuse(const db::StoredTrial& trial, const std::string& why) {
  session_.store.update_trial(trial.id, {.outcome = space::Outcome::Wrong, .reason = "learns too little: " + why});
  session_.observer.note(fmt::format("trial {} is not the best: {}", trial.trial.number, why));
}

}  // namespace nocturne::tuner
