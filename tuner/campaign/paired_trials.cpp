#include "tuner/campaign/paired_trials.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "measure/comparison/location.hpp"
#include "measure/comparison/statistics.hpp"
#include "tuner/campaign/finals/comparing.hpp"
#include "tuner/campaign_file/trial_schedule.hpp"

namespace nocturne::tuner {
namespace {

/// So many trials in a row whose turns came to nothing are no chance: turns would only cost time.
constexpr int kMostAlone = 3;

/// Seconds of the steady step of each run of the default that ended well.
std::vector<double> steps_of_default(const db::TrialDetail& baseline) {
  std::vector<double> steps;
  for (const db::StoredRun& stored : baseline.runs) {
    const space::Run& run = stored.record.run;
    const bool timed = run.purpose == space::Purpose::Search || run.purpose == space::Purpose::Verify;
    if (stored.in_flight || !timed || run.outcome != space::Outcome::Ok) continue;
    // A step is a step, whatever an epoch consists of.
    if (const auto summary = measure::summarise(run, measure::Schedule{})) steps.push_back(summary->parts.steady_step);
  }
  return steps;
}

/// Identities of the configurations whose trials took turns.
std::set<std::string> paired_configurations(const Session& session) {
  std::set<std::string> paired;
  for (const db::StoredComparison& each : session.store.comparisons(session.campaign))
    if (each.record.role == kSearchRole && !each.pairs.empty()) paired.insert(each.record.candidate.identity());
  return paired;
}

/// Bytes that a process may take beside the default; 0: as much as alone.
std::int64_t room_beside(const space::Trial& baseline, std::int64_t shared) {
  return shared > 0 && baseline.peak_bytes ? std::max<std::int64_t>(shared - *baseline.peak_bytes, 1) : 0;
}

}  // namespace

std::string no_turns_because(const CampaignSpec& spec, bool is_local) {
  if (!is_local) return "the nodes of a cluster measure one process at a time";
  if (is_timed_whole(spec.worker)) return "the time of single steps is not seen";
  if (spec.objective.target) return "trials are composed with learning curves";
  return {};
}

PairedTrials::PairedTrials(const Session& session, bool is_local)
    : session_(session),
      why_not_(session.spec.run.method == TrialMethod::Paired ? no_turns_because(session.spec, is_local)
                                                              : "nobody wants it") {}

std::string PairedTrials::sentence() const {
  if (session_.spec.run.method != TrialMethod::Paired) return {};
  if (!why_not_.empty()) return fmt::format("trials are measured alone and not paired, for {}", why_not_);
  return "each trial takes turns with a process of the default that is alive beside it, and is judged by the ratio of "
         "their steps";
}

std::optional<TrialReference> PairedTrials::reference() const {
  return why_not_.empty() ? reference_ : std::nullopt;
}

void PairedTrials::refer_to(const db::StoredTrial& baseline) {
  const space::Trial& trial = baseline.trial;
  if (trial.outcome != space::Outcome::Ok || !trial.parts || !trial.estimate) return;
  const std::int64_t shared = session_.executor.shared_memory_bytes();
  const measure::LaunchSettings launch;
  const PairedSide side{.configuration = trial.configuration,
                        .launch = launch,
                        .peak_bytes = trial.peak_bytes,
                        .device_bytes = trial.device_bytes,
                        .device_memory_bytes = trial.device_memory_bytes};
  if (why_not_.empty()) why_not_ = not_together_because(side, side, shared);
  reference_ = TrialReference{.configuration = trial.configuration,
                              .steady_step = trial.parts->steady_step,
                              .memory_bytes = room_beside(trial, shared)};
  judged_by_ = std::max(trial.estimate->runs, 1);
}

std::vector<space::Trial> PairedTrials::open() {
  if (!why_not_.empty()) return {};
  const auto baseline = session_.store.finished_trial(session_.campaign, 0);
  if (!baseline) return {};
  refer_to(*baseline);
  runs_ = std::ssize(steps_of_default(session_.store.load_trial(baseline->id)));
  return is_due() ? judge_again() : std::vector<space::Trial>();
}

std::vector<space::Trial> PairedTrials::learn(const TrialAnswer& answer) {
  if (!why_not_.empty()) return {};
  if (answer.number == 0) {
    refer_to(session_.store.load_numbered_trial(session_.campaign, 0));
    runs_ = judged_by_;
    return {};
  }
  if (!reference_ || answer.trial.outcome != space::Outcome::Ok) return {};
  runs_ += answer.ratios;
  alone_in_a_row_ = answer.ratios > 0 ? 0 : alone_in_a_row_ + 1;
  if (alone_in_a_row_ == kMostAlone) {
    why_not_ = "turns with the default come to nothing";
    session_.observer.note(sentence());
  }
  return is_due() ? judge_again() : std::vector<space::Trial>();
}

std::vector<space::Trial> PairedTrials::judge_again() {
  auto stored = session_.store.list_trials({.campaign = session_.campaign, .state = db::TrialState::Finished});
  const auto baseline = std::ranges::find(stored, 0, [](const db::StoredTrial& each) { return each.trial.number; });
  const auto steps = steps_of_default(session_.store.load_trial(baseline->id));
  const auto paired = paired_configurations(session_);
  const double level = measure::median(steps), before = reference_->steady_step;
  std::vector<space::Trial> judged;
  std::vector<std::pair<db::TrialId, db::TrialResult>> results;
  for (db::StoredTrial& each : stored) {
    space::Trial& trial = each.trial;
    const bool is_default = trial.number == 0;
    if (!trial.estimate || !(is_default || paired.contains(trial.configuration.identity()))) continue;
    const double step = is_default ? level : trial.parts->steady_step * level / before;
    set_step(step, session_.spec.objective.primary, trial);
    if (is_default) {
      // Against itself it has no error; this much is not known of the others' distance to it.
      trial.estimate->runs = static_cast<int>(steps.size());
      trial.estimate->standard_error =
          trial.estimate->value * session_.spec.run.pair_sd / std::sqrt(static_cast<double>(steps.size()));
    }
    results.emplace_back(each.id, db::result_of(trial));
    judged.push_back(std::move(trial));
  }
  session_.store.update_trials(results);
  reference_->steady_step = level;
  runs_ = judged_by_ = std::ssize(steps);
  return judged;
}

}  // namespace nocturne::tuner
