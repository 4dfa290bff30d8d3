#include "tuner/campaign/answer/answer_evidence.hpp"

#include "tuner/campaign/answer/expectations.hpp"
#include "tuner/campaign/pacing.hpp"
#include "tuner/campaign/stored_document.hpp"
#include "tuner/campaign_file/trial_schedule.hpp"

namespace nocturne::tuner {

std::optional<AnswerPairs> pairs_of(const db::Store& store, const Answer& answer) {
  if (!answer.comparison || !answer.baseline || !answer.best) return std::nullopt;
  const CampaignSections sections = sections_of(answer.campaign.spec);
  const auto schedule = [&](const db::StoredTrial& trial) {
    return trial_schedule(sections.worker, sections.workload, trial.trial.configuration);
  };
  const auto baseline = schedule(*answer.baseline);
  const auto candidate = schedule(*answer.best);
  if (!baseline || !candidate) return std::nullopt;
  const auto pace = [&](const db::StoredTrial& trial) {
    return pace_of(sections.worker.own, sections.run.deadline, trial);
  };
  return AnswerPairs{
      .stored = stored_pairs(store, *answer.comparison, *baseline, *candidate),
      .policy = planned_pairs(sections.verify, sections.budget.wall,
                              forecast_pair(sections.verify, pace(*answer.baseline), pace(*answer.best)))};
}

std::optional<measure::AccuracyDifference> accuracy_difference(const Answer& answer) {
  if (!answer.best_accuracy || !answer.baseline_accuracy || answer.best->id == answer.baseline->id) return std::nullopt;
  return measure::compare_accuracy(*answer.baseline_accuracy, *answer.best_accuracy,
                                   {.margin_points = answer.accuracy_margin, .false_alarm = (1 - kPageConfidence) / 2});
}

}  // namespace nocturne::tuner
