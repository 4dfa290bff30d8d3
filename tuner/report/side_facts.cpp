#include "tuner/report/side_facts.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <variant>

#include "measure/comparison/statistics.hpp"
#include "space/moments.hpp"

namespace nocturne::report {
namespace {

/// The schedule that gave a trial its steps per epoch.
measure::Schedule schedule_behind(const space::Configuration& configuration, const space::Parts& parts) {
  const std::int64_t examples_a_step = configuration.integer_of("batch").value_or(128);
  return {.training_examples = std::llround(parts.steps_per_epoch * static_cast<double>(examples_a_step)),
          .batch = examples_a_step,
          .partial_batch = protocol::PartialBatch::Train};
}

MeasuredTime steady_step_of(std::span<const measure::RunSummary> runs) {
  std::vector<double> steps;
  double within = 0;
  for (const measure::RunSummary& run : runs) {
    steps.push_back(run.parts.steady_step);
    within += run.steady_step_error * run.steady_step_error;
  }
  const space::Moments moments = space::moments_of(steps);
  return {.seconds = moments.mean,
          .standard_error = std::max(moments.standard_error(), std::sqrt(within) / static_cast<double>(runs.size()))};
}

void read_runs(const db::Store& store, const space::Objective& objective, SideFacts& facts) {
  const auto detail = store.load_trial(facts.trial->id);
  std::vector<space::Run> searched;  // those that the estimate rests on; pairs and epochs are apart
  for (const db::StoredRun& stored : detail.runs) {
    const space::Run& run = stored.record.run;
    if (run.outcome != space::Outcome::Ok) continue;
    if (run.purpose == space::Purpose::Search || run.purpose == space::Purpose::Audit) searched.push_back(run);
    if (run.accuracy && std::ssize(run.epochs) >= facts.accuracy_epochs) {
      facts.accuracy = run.accuracy;
      facts.accuracy_epochs = std::ssize(run.epochs);
    }
  }
  const space::Parts& parts = *facts.trial->trial.parts;
  facts.first_step_s = parts.first_step_excess + parts.steady_step;
  facts.steady_step = {.seconds = parts.steady_step};
  for (const double epochs : objective.epochs)
    facts.times.push_back({.epochs = epochs, .time = {.seconds = space::total_time(parts, epochs)}});
  const auto summary = measure::summarise(searched, schedule_behind(facts.configuration, parts), objective);
  if (!summary) return;  // the runs were forgotten: the estimate stays, its error is not known
  facts.steady_step.standard_error = steady_step_of(summary->runs).standard_error;
  for (HorizonTime& each : facts.times)
    each.time.standard_error = measure::estimate_at(summary->runs, each.epochs).standard_error;
}

}  // namespace

SideFacts side_facts(const db::Store& store, db::CampaignId campaign, const space::Objective& objective,
                     const space::Configuration& configuration) {
  SideFacts facts{.configuration = configuration};
  auto trials = store.list_trials(
      {.campaign = campaign, .state = db::TrialState::Finished, .configuration = configuration.identity()});
  for (db::StoredTrial& each : trials)
    if (!facts.trained()) facts.trial = std::move(each);
  if (!facts.trained() || !facts.trial->trial.parts) return facts;
  read_runs(store, objective, facts);
  return facts;
}

}  // namespace nocturne::report
