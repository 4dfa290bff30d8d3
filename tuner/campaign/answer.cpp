#include "tuner/campaign/answer.hpp"

#include <algorithm>
#include <cmath>

#include "tuner/campaign/comparing.hpp"

namespace nocturne::tuner {
namespace {

/// The configuration that the finals chose; null: they are still to come, or know nothing of the trial that has the
/// smallest estimate by now.
const space::Configuration* chosen_in(const std::vector<db::StoredComparison>& comparisons,
                                      const db::StoredTrial& smallest) {
  const auto is_smallest = [&](const db::StoredComparison& each) {
    return each.record.candidate == smallest.trial.configuration ||
           each.record.baseline == smallest.trial.configuration;
  };
  if (std::ranges::none_of(comparisons, is_smallest)) return nullptr;
  const space::Configuration* chosen = nullptr;
  for (const db::StoredComparison& each : comparisons) {
    if (each.record.role == kVerifyRole) chosen = &each.record.candidate;
  }
  return chosen;
}

double value_at(const db::StoredTrial& trial, const std::optional<double>& epochs) {
  return epochs ? space::total_time(*trial.trial.parts, *epochs) : trial.trial.estimate->value;
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

}  // namespace

bool trained_for_accuracy(const space::Run& run, std::int64_t epochs) {
  return run.purpose == space::Purpose::Gate && run.accuracy && std::ssize(run.epochs) == epochs;
}

double gain_percent(double log_ratio) {
  return 100 * std::expm1(-log_ratio);
}

space::Objective objective_of(const nlohmann::json& document) {
  space::Objective objective;
  const nlohmann::json described = document.value("objective", nlohmann::json::object());
  objective.minimise = described.value("minimise", objective.minimise);
  objective.epochs = described.value("epochs", objective.epochs);
  // The rule of campaign files: 12 where it is a horizon, else the last one.
  const bool has_twelve = std::ranges::find(objective.epochs, 12.0) != objective.epochs.end();
  objective.primary =
      described.value("primary", has_twelve || objective.epochs.empty() ? 12.0 : objective.epochs.back());
  return objective;
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
  const nlohmann::json verify = campaign.spec.value("verify", nlohmann::json::object());
  answer.accuracy_epochs = verify.value("accuracy_epochs", std::int64_t{1});

  const auto trials = store.list_trials({.campaign = campaign.id, .state = db::TrialState::Finished});
  if (!trials) return std::unexpected(trials.error());
  const std::vector<db::StoredTrial>& finished = *trials;
  for (const db::StoredTrial& trial : finished) {
    ++answer.outcomes[trial.trial.outcome];
    if (trial.trial.number == 0) answer.baseline = trial;
    if (trial.trial.outcome != space::Outcome::Ok) {
      answer.failures.push_back(trial);
    } else if (!answer.best || value_at(trial, epochs) < value_at(*answer.best, epochs)) {
      answer.best = trial;
    }
  }
  // What was faster and trains wrongly must not be missed among what merely failed.
  std::ranges::stable_partition(
      answer.failures, [](const db::StoredTrial& failure) { return failure.trial.outcome == space::Outcome::Wrong; });
  if (!answer.best || !answer.baseline) return answer;

  auto comparisons = store.comparisons(campaign.id);
  if (!comparisons) return std::unexpected(comparisons.error());
  if (!epochs || *epochs == objective_of(campaign.spec).primary) {
    if (const space::Configuration* chosen = chosen_in(*comparisons, *answer.best)) {
      const auto trial = std::ranges::find_if(finished, [&](const db::StoredTrial& each) {
        return each.trial.outcome == space::Outcome::Ok && each.trial.configuration == *chosen;
      });
      if (trial != finished.end()) answer.best = *trial;
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
  return answer;
}

}  // namespace nocturne::tuner
