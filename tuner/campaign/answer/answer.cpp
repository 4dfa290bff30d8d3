#include "tuner/campaign/answer/answer.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "tuner/campaign/finals/comparing.hpp"
#include "tuner/campaign/finals/stored_pairs.hpp"

namespace nocturne::tuner {
namespace {

/// The configuration that the finals chose; null: they are still to come, or know nothing of the trial that has the
/// smallest estimate by now.
const space::Configuration* chosen_in(const std::vector<db::StoredComparison>& comparisons,
                                      const db::StoredTrial& smallest) {
  const auto is_smallest = [&](const db::StoredComparison& each) {
    // What the user compared chose nothing.
    return each.record.role != kCompareRole && (each.record.candidate == smallest.trial.configuration ||
                                                each.record.baseline == smallest.trial.configuration);
  };
  if (std::ranges::none_of(comparisons, is_smallest)) return nullptr;
  // A later session may come back to one that an earlier one had compared: it judges its pairs again.
  const auto last_seen = [](const db::StoredComparison& each) {
    return std::max(each.started_unix_ns, each.judged_unix_ns);
  };
  const db::StoredComparison* chosen = nullptr;
  for (const db::StoredComparison& each : comparisons) {
    if (each.record.role != kVerifyRole) continue;
    if (chosen == nullptr || last_seen(each) >= last_seen(*chosen)) chosen = &each;
  }
  return chosen == nullptr ? nullptr : &chosen->record.candidate;
}

db::Expected<std::optional<space::Accuracy>> accuracy_of(const db::Store& store, const db::StoredTrial& trial,
                                                         std::int64_t epochs) {
  const auto detail = store.load_trial(trial.id);
  if (!detail) return std::unexpected(detail.error());
  std::optional<space::Accuracy> accuracy;
  for (const db::StoredRun& stored : detail->runs) {
    if (trained_for_accuracy(stored.record.run, epochs)) accuracy = stored.record.run.accuracy;
  }
  return accuracy;
}

db::Expected<std::optional<measure::DataWait>> stored_wait(const db::Store& store, const db::StoredTrial& trial) {
  const auto detail = store.load_trial(trial.id);
  if (!detail) return std::unexpected(detail.error());
  return data_wait_of(*detail);
}

db::Expected<Answer> with_waits(const db::Store& store, Answer answer) {
  if (answer.best) {
    auto wait = stored_wait(store, *answer.best);
    if (!wait) return std::unexpected(wait.error());
    answer.best_wait = *wait;
  }
  if (answer.baseline) {
    auto wait = stored_wait(store, *answer.baseline);
    if (!wait) return std::unexpected(wait.error());
    answer.baseline_wait = *wait;
  }
  return answer;
}

/// What the pairs of the answer's comparison say at its horizon.
db::Expected<std::optional<db::VerdictRecord>> verdict_for(const db::Store& store, const Answer& answer) {
  const space::Workload workload = workload_of(answer.campaign.spec);
  const auto schedule = [&](const db::StoredTrial& trial) {
    return measure::schedule_of(workload, trial.trial.configuration, 128, protocol::PartialBatch::Train);
  };
  const auto baseline = schedule(*answer.baseline);
  const auto candidate = schedule(*answer.best);
  if (!baseline || !candidate) return std::nullopt;
  const auto pairs = stored_pairs(store, *answer.comparison, *baseline, *candidate);
  if (!pairs) return std::unexpected(pairs.error());
  return verdict_at(*pairs, answer.comparison->id, answer.objective.primary, judging_rules_of(answer.campaign.spec));
}

/// What the finished trials came to; the best by estimate, or, where epochs are given, by T(epochs).
db::Expected<void> take_trials(const db::Store& store, std::optional<double> epochs, Answer& answer) {
  const db::CampaignId campaign = answer.campaign.id;
  auto outcomes = store.count_outcomes(campaign);
  if (!outcomes) return std::unexpected(outcomes.error());
  answer.outcomes = *std::move(outcomes);
  auto baseline = store.finished_trial(campaign, 0);
  if (!baseline) return std::unexpected(baseline.error());
  answer.baseline = *std::move(baseline);
  auto best = epochs ? store.fastest(campaign, *epochs) : store.best(campaign);
  if (!best) return std::unexpected(best.error());
  answer.best = *std::move(best);
  auto failures = store.failed_trials(campaign);
  if (!failures) return std::unexpected(failures.error());
  answer.failures = *std::move(failures);
  // What was faster and trains wrongly must not be missed among what merely failed.
  std::ranges::stable_partition(
      answer.failures, [](const db::StoredTrial& failure) { return failure.trial.outcome == space::Outcome::Wrong; });
  return {};
}

}  // namespace

bool trained_for_accuracy(const space::Run& run, std::int64_t epochs) {
  return run.purpose == space::Purpose::Gate && run.accuracy && std::ssize(run.epochs) == epochs;
}

std::optional<measure::DataWait> data_wait_of(const db::TrialDetail& detail) {
  std::vector<space::Run> runs;
  for (const db::StoredRun& stored : detail.runs) {
    const space::Run& run = stored.record.run;
    const bool searched = run.purpose == space::Purpose::Search || run.purpose == space::Purpose::Audit;
    if (searched && !stored.in_flight && run.outcome == space::Outcome::Ok) runs.push_back(run);
  }
  return measure::data_wait(runs);
}

bool is_extrapolated(const space::Trial& trial, double epochs) {
  if (!trial.parts || trial.parts->steps_per_epoch <= 0 || trial.parts->steady_step <= 0) return false;
  return static_cast<double>(trial.fidelity.steps) < epochs * trial.parts->steps_per_epoch;
}

double gain_percent(double log_ratio) {
  return 100 * std::expm1(-log_ratio);
}

bool Answer::verified_faster() const {
  return verdict && verdict->verdict == "faster";
}

db::Expected<Answer> answer_of(const db::Store& store, const db::CampaignSummary& campaign,
                               std::optional<double> epochs) {
  Answer answer;
  answer.campaign = campaign;
  answer.objective = objective_of(campaign.spec);
  if (epochs) answer.objective.primary = *epochs;
  const JudgingRules rules = judging_rules_of(campaign.spec);
  answer.accuracy_epochs = rules.accuracy_epochs;
  answer.accuracy_margin = rules.accuracy_margin;

  if (auto taken = take_trials(store, epochs, answer); !taken) return std::unexpected(taken.error());
  auto comparisons = store.comparisons(campaign.id);
  if (!comparisons) return std::unexpected(comparisons.error());
  auto ranking = stored_ranking(store, campaign, "", *comparisons, answer.objective.primary);
  if (!ranking) return std::unexpected(ranking.error());
  answer.ranking = *std::move(ranking);
  if (!answer.best || !answer.baseline) return with_waits(store, std::move(answer));

  if (!epochs || *epochs == objective_of(campaign.spec).primary) {
    if (const space::Configuration* chosen = chosen_in(*comparisons, *answer.best)) {
      auto trial = store.first_ok(campaign.id, *chosen);
      if (!trial) return std::unexpected(trial.error());
      if (*trial) answer.best = **std::move(trial);
    }
  }
  answer.changes = changes_between(answer.baseline->trial.configuration, answer.best->trial.configuration);
  for (db::StoredComparison& comparison : *comparisons) {
    if (comparison.record.role != kVerifyRole || comparison.record.candidate != answer.best->trial.configuration ||
        comparison.record.baseline != answer.baseline->trial.configuration) {
      continue;
    }
    answer.verdict.reset();
    for (const db::VerdictRecord& verdict : comparison.verdicts) {
      if (verdict.horizon_epochs == answer.objective.primary) answer.verdict = verdict;
    }
    answer.comparison = std::move(comparison);
  }
  if (answer.comparison && !answer.verdict) {  // a horizon that the campaign does not name: the pairs know it, too
    auto verdict = verdict_for(store, answer);
    if (!verdict) return std::unexpected(verdict.error());
    answer.verdict = *std::move(verdict);
  }
  if (answer.accuracy_epochs > 0) {
    auto best = accuracy_of(store, *answer.best, answer.accuracy_epochs);
    if (!best) return std::unexpected(best.error());
    answer.best_accuracy = *best;
    if (answer.baseline->trial.outcome == space::Outcome::Ok) {
      auto baseline = accuracy_of(store, *answer.baseline, answer.accuracy_epochs);
      if (!baseline) return std::unexpected(baseline.error());
      answer.baseline_accuracy = *baseline;
    }
  }
  return with_waits(store, std::move(answer));
}

}  // namespace nocturne::tuner
