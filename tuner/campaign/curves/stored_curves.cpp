#include "tuner/campaign/curves/stored_curves.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "measure/comparison/statistics.hpp"
#include "tuner/campaign_file/trial_schedule.hpp"

namespace nocturne::tuner {
namespace {

bool is_curve(const db::StoredRun& stored) {
  const space::Run& run = stored.record.run;
  return !stored.in_flight && run.purpose == space::Purpose::Gate && !run.curve.empty();
}

/// The accuracy after so many epochs; empty: the curve ended before.
std::optional<double> accuracy_after(const space::Run& run, double epochs, double steps) {
  for (const space::CurvePoint& point : run.curve)
    if (static_cast<double>(point.steps) >= epochs * steps - 0.5) return point.test.accuracy;
  return std::nullopt;
}

/// Runs of one set.
struct SetRuns {
  std::vector<space::Run> curves;  ///< that ended well, by seed
  double steps = 0;                ///< of an epoch
};

SetRuns read_set(const db::Store& store, const db::StoredTrial& trial, std::optional<double> steps, double process_sd,
                 measure::LearningEntrant& entrant, StoredCurves& result) {
  SetRuns set;
  entrant.failed = trial.trial.outcome != space::Outcome::Ok || !trial.trial.parts || !steps;
  if (entrant.failed) return set;
  set.steps = *steps;
  entrant.times = epoch_times(trial.trial, *steps, process_sd);
  const auto detail = store.load_trial(trial.id);
  for (const db::StoredRun& stored : detail.runs) {
    const space::Run& run = stored.record.run;
    if (stored.in_flight || run.purpose != space::Purpose::Gate) continue;
    if (is_curve(stored)) {
      result.spent += run.wall;
      ++result.curves;
    }
    if (run.outcome == space::Outcome::Diverged) entrant.failed = true;
    if (is_curve(stored) && run.outcome == space::Outcome::Ok) set.curves.push_back(run);
  }
  std::ranges::sort(set.curves, {}, &space::Run::seed);
  return set;
}

/// What the default's first curves reached on average; empty: they are still to come.
std::optional<double> reached_by_default(const SetRuns& of_default, const space::AccuracyTarget& target) {
  double sum = 0;
  std::size_t count = 0;
  for (const space::Run& run : of_default.curves) {
    const auto accuracy = accuracy_after(run, target.default_epochs, of_default.steps);
    if (!accuracy || count == kTargetCurves) continue;
    sum += *accuracy;
    ++count;
  }
  return count == kTargetCurves ? std::optional(sum / static_cast<double>(count)) : std::nullopt;
}

/// What the finals' trainings say of their sets, those included that did not get there.
void add_trainings(const db::Store& store, db::CampaignId campaign, std::span<const db::StoredTrial> trials,
                   const WorkerChoice& worker, const space::Workload& workload, StoredCurves& result) {
  std::set<std::string> compared;
  for (const db::StoredComparison& each : store.comparisons(campaign)) {
    compared.insert(each.record.candidate.identity());
    compared.insert(each.record.baseline.identity());
  }
  for (const db::StoredTrial& each : trials) {
    const space::Configuration& configuration = each.trial.configuration;
    if (!compared.contains(configuration.identity())) continue;
    const auto steps = steps_of_epoch(worker, workload, configuration);
    if (!steps) continue;
    const auto detail = store.load_trial(each.id);
    for (const db::StoredRun& stored : detail.runs) {
      const space::Run& run = stored.record.run;
      if (stored.in_flight || run.purpose != space::Purpose::Verify || run.outcome != space::Outcome::Ok) continue;
      const auto crossing = measure::crossing_of(run, *result.accuracy, *steps);
      if (!crossing) continue;
      result.entrants[result.set_of(configuration)].crossings.push_back(*crossing);
      ++result.trainings;
    }
  }
}

}  // namespace

std::size_t StoredCurves::set_of(const space::Configuration& configuration) const {
  const auto found = std::ranges::find(sets, learning_values(configuration, names), &LearningSet::values);
  return found == sets.end() ? 0 : static_cast<std::size_t>(found - sets.begin());
}

const measure::LearningStanding& StoredCurves::standing_of(const space::Configuration& configuration) const {
  return standings[set_of(configuration)];
}

measure::CurvePolicy curve_policy(const space::AccuracyTarget& target) {
  return {.points_per_epoch = static_cast<double>(target.points_per_epoch), .most_epochs = target.most_epochs};
}

std::optional<double> steps_of_epoch(const WorkerChoice& worker, const space::Workload& workload,
                                     const space::Configuration& configuration) {
  const auto schedule = trial_schedule(worker, workload, configuration);
  return schedule ? std::optional(measure::steps_per_epoch(*schedule)) : std::nullopt;
}

measure::EpochTimes epoch_times(const space::Trial& trial, double steps, double process_sd) {
  const space::Parts epoch = space::per_training(*trial.parts, steps, 1);
  const double seconds = space::total_time(epoch, 1) - space::startup_time(epoch);
  return {.startup = space::startup_time(epoch), .epoch = std::max(seconds, 1e-9), .log_sd = process_sd};
}

protocol::CurveRequest curve_request(const space::AccuracyTarget& target, std::optional<double> until) {
  return {.points_per_epoch = target.points_per_epoch, .until = until};
}

StoredCurves stored_curves(const db::Store& store, db::CampaignId campaign, const space::Space& space,
                           const WorkerChoice& worker, const space::Workload& workload,
                           const space::AccuracyTarget& target, double process_sd) {
  StoredCurves result{.names = target.learning_parameters};
  result.sets = learning_sets(space, target.learning_parameters);
  const auto trials = store.list_trials({.campaign = campaign, .state = db::TrialState::Finished});
  std::map<std::string, const db::StoredTrial*> first;  // of its configuration
  for (const db::StoredTrial& each : trials) first.try_emplace(each.trial.configuration.identity(), &each);
  std::vector<SetRuns> runs;
  for (const LearningSet& set : result.sets) {
    measure::LearningEntrant& entrant = result.entrants.emplace_back();
    entrant.values = set.places;
    const auto trial = first.find(set.configuration.identity());
    if (trial == first.end()) {
      runs.emplace_back();
      continue;
    }
    const auto steps = steps_of_epoch(worker, workload, set.configuration);
    runs.push_back(read_set(store, *trial->second, steps, process_sd, entrant, result));
  }
  result.accuracy = target.accuracy ? target.accuracy : reached_by_default(runs.front(), target);
  for (const SetRuns& of_set : runs) result.drawn.push_back(std::ssize(of_set.curves));
  for (std::size_t i = 0; result.accuracy && i < runs.size(); ++i) {
    for (const space::Run& run : runs[i].curves)
      if (const auto crossing = measure::crossing_of(run, *result.accuracy, runs[i].steps))
        result.entrants[i].crossings.push_back(*crossing);
  }
  if (result.accuracy) add_trainings(store, campaign, trials, worker, workload, result);
  result.standings = measure::standings(result.entrants, curve_policy(target));
  return result;
}

std::optional<space::Parts> parts_to_target(const space::Configuration& configuration, const space::Parts& parts,
                                            const StoredCurves& curves, const WorkerChoice& worker,
                                            const space::Workload& workload) {
  const auto steps = steps_of_epoch(worker, workload, configuration);
  if (!steps) return std::nullopt;
  return space::per_training(parts, *steps, curves.standing_of(configuration).epochs.mean);
}

void compose(space::Trial& trial, const StoredCurves& curves, const WorkerChoice& worker,
             const space::Workload& workload) {
  if (!trial.parts || !trial.estimate || trial.outcome != space::Outcome::Ok) return;
  const auto parts = parts_to_target(trial.configuration, *trial.parts, curves, worker, workload);
  if (!parts) return;
  const double before = trial.estimate->value;
  trial.parts = parts;
  trial.estimate->value = space::total_time(*trial.parts, 1);
  trial.estimate->standard_error *= trial.estimate->value / before;
}

}  // namespace nocturne::tuner
