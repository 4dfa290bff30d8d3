#include "tuner/campaign/answer/answer.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "measure/comparison/noise.hpp"
#include "measure/machine/machine_part.hpp"
#include "tuner/campaign/answer/answer_evidence.hpp"
#include "tuner/campaign/curves/stored_curves.hpp"
#include "tuner/campaign/finals/comparing.hpp"
#include "tuner/campaign/finals/stored_pairs.hpp"
#include "tuner/campaign/stored_document.hpp"
#include "tuner/campaign/trial_runner.hpp"

namespace nocturne::tuner {
namespace {

/// When the comparison was measured or judged last: a later session may come back to one of an earlier session.
std::int64_t last_seen(const db::StoredComparison& comparison) {
  return std::max(comparison.started_unix_ns, comparison.judged_unix_ns);
}

/// The configuration that the finals chose; null: they are still to come, or know nothing of the trial that has the
/// smallest estimate by now: it was measured after them, and in no pair.
const space::Configuration* chosen_in(const std::vector<db::StoredComparison>& comparisons,
                                      const db::StoredTrial& smallest) {
  const db::StoredComparison* chosen = nullptr;
  bool in_pairs = false;
  for (const db::StoredComparison& each : comparisons) {
    // What the user compared chose nothing, nor did a trial's own runs.
    if (each.record.role == kCompareRole || each.record.role == kSearchRole) continue;
    in_pairs = in_pairs || each.record.candidate == smallest.trial.configuration ||
               each.record.baseline == smallest.trial.configuration;
    if (each.record.role != kVerifyRole) continue;
    if (chosen == nullptr || last_seen(each) >= last_seen(*chosen)) chosen = &each;
  }
  if (chosen == nullptr) return nullptr;
  const bool knew_it = in_pairs || smallest.finished_unix_ns.value_or(0) <= last_seen(*chosen);
  return knew_it ? &chosen->record.candidate : nullptr;
}

std::optional<space::Accuracy> accuracy_of(const db::Store& store, const db::StoredTrial& trial, std::int64_t epochs) {
  const auto detail = store.load_trial(trial.id);
  std::optional<space::Accuracy> accuracy;
  for (const db::StoredRun& stored : detail.runs)
    if (trained_for_accuracy(stored.record.run, epochs)) accuracy = stored.record.run.accuracy;
  return accuracy;
}

Answer with_waits(const db::Store& store, Answer answer) {
  if (answer.best) {
    const db::TrialDetail detail = store.load_trial(answer.best->id);
    answer.best_wait = data_wait_of(detail);
    answer.best_share = step_share_of(detail);
    answer.learning = judged_learning(detail);
  }
  if (answer.baseline) {
    const db::TrialDetail detail = store.load_trial(answer.baseline->id);
    answer.baseline_wait = data_wait_of(detail);
    answer.baseline_share = step_share_of(detail);
  }
  return answer;
}

/// What the pairs of the answer's comparison say at its horizon.
std::optional<db::VerdictRecord> verdict_for(const db::Store& store, const Answer& answer) {
  const auto pairs = pairs_of(store, answer);
  if (!pairs) return std::nullopt;
  return verdict_at(pairs->stored, answer.comparison->id, answer.objective.primary, pairs->policy);
}

/// The nodes of its verdict.
std::optional<VerdictNodes> nodes_of(const db::Store& store, const Answer& answer) {
  if (!answer.verdict || !answer.comparison) return std::nullopt;
  const auto& pairs = answer.comparison->pairs;
  const bool one = std::ranges::all_of(
      pairs, [&](const db::StoredPair& pair) { return pair.fingerprint == pairs.front().fingerprint; });
  if (one) return std::nullopt;  // the usual case, for which nothing is read
  const auto judged = pairs_of(store, answer);
  if (!judged) return std::nullopt;
  const auto compared =
      compare_at(judged->stored, answer.objective.primary, judged->policy.margin_percent, answer.verdict->confidence);
  if (compared.nodes < 2) return std::nullopt;
  VerdictNodes nodes{.nodes = compared.nodes, .differs = compared.differs_by_node};
  const std::string name = host_of(store, pairs.front().fingerprint);  // of a part "n1/gpu0"
  if (const auto part = measure::kind_of_part(name.substr(name.rfind('/') + 1)); part && name.contains('/'))
    nodes.called = plural(*part);
  return nodes;
}

/// What curves and the trial's own times say of it together.
std::optional<TargetAnswer::Side> target_side(const StoredCurves& curves, const CampaignSections& sections,
                                              const space::Trial& trial) {
  if (!trial.parts) return std::nullopt;
  const auto steps = steps_of_epoch(sections.worker, sections.workload, trial.configuration);
  if (!steps) return std::nullopt;
  const measure::EpochsToTarget& epochs = curves.standing_of(trial.configuration).epochs;
  const measure::EpochTimes times = epoch_times(trial, *steps, sections.run.process_sd);
  return TargetAnswer::Side{.epochs = epochs, .time = measure::time_to_accuracy(times, epochs)};
}

/// Empty: another objective, or no curve was drawn yet.
std::optional<StoredCurves> curves_to_target(const db::Store& store, const db::CampaignSummary& campaign,
                                             const CampaignSections& sections) {
  if (!sections.objective.target) return std::nullopt;
  const auto space = stored_space(store, campaign);
  if (!space) return std::nullopt;
  StoredCurves curves = stored_curves(store, campaign.id, space->space, sections.worker, sections.workload,
                                      *sections.objective.target, sections.run.process_sd);
  if (!curves.accuracy || curves.curves == 0) return std::nullopt;
  return curves;
}

std::optional<TargetAnswer> target_of(const db::Store& store, const Answer& answer, const CampaignSections& sections) {
  const auto curves = curves_to_target(store, answer.campaign, sections);
  if (!curves) return std::nullopt;
  return TargetAnswer{.accuracy = *curves->accuracy,
                      .curves = curves->curves,
                      .curves_seconds = std::chrono::duration<double>(curves->spent).count(),
                      .trainings = curves->trainings,
                      .baseline = target_side(*curves, sections, answer.baseline->trial),
                      .best = target_side(*curves, sections, answer.best->trial)};
}

/// How the pairs of the answer's comparison came to the target: by epochs, and by what one takes.
std::optional<TargetAnswer::Trained> trained_of(const db::Store& store, const Answer& answer,
                                                const CampaignSections& sections) {
  if (!answer.comparison) return std::nullopt;
  const auto steps = [&](const db::StoredTrial& trial) {
    return steps_of_epoch(sections.worker, sections.workload, trial.trial.configuration).value_or(1);
  };
  const double usual = steps(*answer.baseline), of_best = steps(*answer.best);
  TargetAnswer::Trained trained;
  std::vector<double> ratios;
  for (const db::StoredPair& pair : answer.comparison->pairs) {
    const space::Run baseline = store.load_run(pair.baseline_run).record.run;
    const space::Run best = store.load_run(pair.candidate_run).record.run;
    const auto there = measure::crossing_of(baseline, answer.target->accuracy, usual);
    const auto best_there = measure::crossing_of(best, answer.target->accuracy, of_best);
    const auto epoch = measure::seconds_of_epoch(baseline, usual),
               best_epoch = measure::seconds_of_epoch(best, of_best);
    if (!there || !there->reached || !best_there || !best_there->reached || !epoch || !best_epoch) continue;
    trained.baseline_epochs.push_back(*there->reached);
    trained.best_epochs.push_back(*best_there->reached);
    ratios.push_back(std::log(*epoch / *best_epoch));
  }
  if (ratios.empty()) return std::nullopt;
  trained.epoch =
      measure::compare(ratios, {.margin_percent = sections.verify.margin_percent, .confidence = kStatedConfidence});
  return trained;
}

/// What the finished trials came to; the best by estimate, or, where epochs are given, by T(epochs).
void take_trials(const db::Store& store, std::optional<double> epochs, Answer& answer) {
  const db::CampaignId campaign = answer.campaign.id;
  answer.outcomes = store.count_outcomes(campaign);
  answer.baseline = store.finished_trial(campaign, 0);
  answer.best = epochs ? store.fastest(campaign, *epochs) : store.best(campaign);
  answer.failures = store.failed_trials(campaign);
  // What was faster and trains wrongly must not be missed among what merely failed.
  std::ranges::stable_partition(
      answer.failures, [](const db::StoredTrial& failure) { return failure.trial.outcome == space::Outcome::Wrong; });
}

Price price_of(const db::Store& store, db::CampaignId campaign, const std::vector<db::StoredComparison>& comparisons) {
  Price price;
  for (const auto& [purpose, count] : store.count_processes(campaign)) {
    if (purpose == space::Purpose::Search || purpose == space::Purpose::Audit) price.search += count;
    if (purpose == space::Purpose::Gate) price.gate += count;
  }
  for (const db::StoredComparison& each : comparisons) {
    const auto processes = 2 * std::ssize(each.pairs);
    if (each.record.role == kSearchRole) price.references += std::ssize(each.pairs);
    if (each.record.role == kSelectRole || each.record.role == kSimplifyRole) price.choice += processes;
    if (each.record.role == kVerifyRole) price.verdict += processes;
  }
  return price;
}

/// Seconds of the last pair of the answer's comparison.
double seconds_of_pair(const db::Store& store, const db::StoredComparison& comparison) {
  const db::StoredPair& pair = comparison.pairs.back();
  const auto seconds = [&](const std::string& id) {
    return std::chrono::duration<double>(store.load_run(id).record.run.wall).count();
  };
  const double candidate = seconds(pair.candidate_run), baseline = seconds(pair.baseline_run);
  const bool alone = comparison.record.method == measure::to_text(measure::PairMethod::Sequential);
  return alone ? candidate + baseline : std::max(candidate, baseline);
}

/// By the width of the verdict's interval, and what its last pair took.
std::optional<NextHour> next_hour(const db::Store& store, const Answer& answer) {
  constexpr double kHour = 3600;
  if (!answer.verdict || !answer.comparison || answer.comparison->pairs.empty() || answer.verdict->pairs < 2)
    return std::nullopt;
  const db::VerdictRecord& verdict = *answer.verdict;
  const double half = (verdict.log_ratio_high - verdict.log_ratio_low) / 2;
  const double seconds = seconds_of_pair(store, *answer.comparison);
  if (!(half > 0) || !std::isfinite(half) || !(seconds > 0) || seconds > kHour / 2) return std::nullopt;
  const int pairs = static_cast<int>(kHour / seconds);
  const double sd = measure::sd_of_interval(half, static_cast<int>(verdict.pairs), verdict.confidence);
  return NextHour{.pairs = pairs, .resolution_percent = measure::resolution_percent(sd, pairs)};
}

}  // namespace

bool trained_for_accuracy(const space::Run& run, std::int64_t epochs) {
  return run.purpose == space::Purpose::Gate && run.accuracy && std::ssize(run.epochs) == epochs;
}

std::vector<space::Run> searched_runs(const db::TrialDetail& detail) {
  std::vector<space::Run> runs;
  for (const db::StoredRun& stored : detail.runs) {
    const space::Run& run = stored.record.run;
    const bool searched = run.purpose == space::Purpose::Search || run.purpose == space::Purpose::Audit;
    if (searched && !stored.in_flight && run.outcome == space::Outcome::Ok) runs.push_back(run);
  }
  return runs;
}

std::optional<measure::DataWait> data_wait_of(const db::TrialDetail& detail) {
  return measure::data_wait(searched_runs(detail));
}

std::map<std::string, double> step_share_of(const db::TrialDetail& detail) {
  std::map<std::string, double> sums;
  double runs = 0;
  for (const space::Run& run : searched_runs(detail)) {
    if (!run.ready.is_object() || !run.ready.contains("share")) continue;
    const nlohmann::json& said = run.ready["share"];
    if (!said.is_object()) continue;
    runs += 1;
    for (const char* part : space::kStepParts)
      if (said.contains(part) && said[part].is_number()) sums[part] += said[part].get<double>();
  }
  for (auto& [part, sum] : sums) sum /= runs;
  return sums;
}

bool is_extrapolated(const space::Trial& trial, double epochs) {
  if (!trial.parts || trial.parts->steps_per_epoch <= 0 || trial.parts->steady_step <= 0) return false;
  return static_cast<double>(trial.fidelity.steps) < epochs * trial.parts->steps_per_epoch;
}

double gain_percent(double log_ratio) {
  return 100 * std::expm1(-log_ratio);
}

std::optional<TargetAnswer::Side> expected_training(const db::Store& store, const db::CampaignSummary& campaign,
                                                    const space::Trial& trial) {
  const CampaignSections sections = sections_of(campaign.spec);
  const auto curves = curves_to_target(store, campaign, sections);
  return curves ? target_side(*curves, sections, trial) : std::nullopt;
}

bool Answer::verified_faster() const {
  return verdict && verdict->verdict == "faster";
}

void take_comparison(std::vector<db::StoredComparison> comparisons, Answer& answer) {
  answer.comparison.reset();
  answer.verdict.reset();
  answer.compared.reset();
  if (!answer.baseline) return;
  answer.compared = stored_gain(comparisons, answer.baseline->trial.configuration, answer.best->trial.configuration,
                                answer.objective.primary);
  if (answer.compared && answer.compared->role != kCompareRole) answer.compared.reset();
  for (db::StoredComparison& comparison : comparisons) {
    if (comparison.record.role != kVerifyRole || comparison.record.candidate != answer.best->trial.configuration ||
        comparison.record.baseline != answer.baseline->trial.configuration) {
      continue;
    }
    answer.verdict.reset();
    for (const db::VerdictRecord& verdict : comparison.verdicts)
      if (verdict.horizon_epochs == answer.objective.primary) answer.verdict = verdict;
    answer.comparison = std::move(comparison);
  }
}

Answer answer_of(const db::Store& store, const db::CampaignSummary& campaign, std::optional<double> epochs) {
  Answer answer;
  answer.campaign = campaign;
  const CampaignSections sections = sections_of(campaign.spec);
  answer.objective = sections.objective;
  if (epochs) answer.objective.primary = *epochs;
  answer.accuracy_epochs = sections.verify.accuracy_epochs;
  answer.accuracy_margin = sections.verify.gate.accuracy_margin;

  take_trials(store, epochs, answer);
  auto comparisons = store.comparisons(campaign.id);
  answer.price = price_of(store, campaign.id, comparisons);
  answer.ranking = stored_ranking(store, campaign, "", comparisons, answer.objective.primary);
  if (!answer.best || !answer.baseline) return with_waits(store, std::move(answer));

  if (!epochs || *epochs == sections.objective.primary) {
    if (const space::Configuration* chosen = chosen_in(comparisons, *answer.best)) {
      if (auto trial = store.first_ok(campaign.id, *chosen)) answer.best = *std::move(trial);
    }
  }
  answer.target = target_of(store, answer, sections);
  answer.changes = changes_between(answer.baseline->trial.configuration, answer.best->trial.configuration);
  take_comparison(std::move(comparisons), answer);
  if (answer.comparison && !answer.verdict)  // a horizon that the campaign does not name: the pairs know it, too
    answer.verdict = verdict_for(store, answer);
  if (answer.target) answer.target->trained = trained_of(store, answer, sections);
  answer.nodes = nodes_of(store, answer);
  answer.price.next_hour = next_hour(store, answer);
  if (answer.accuracy_epochs > 0) {
    answer.best_accuracy = accuracy_of(store, *answer.best, answer.accuracy_epochs);
    if (answer.baseline->trial.outcome == space::Outcome::Ok)
      answer.baseline_accuracy = accuracy_of(store, *answer.baseline, answer.accuracy_epochs);
  }
  return with_waits(store, std::move(answer));
}

}  // namespace nocturne::tuner
