#include "tuner/campaign/disturbed_default.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "measure/comparison/disturbance.hpp"
#include "measure/comparison/statistics.hpp"
#include "tuner/campaign/trial_runner.hpp"
#include "tuner/executor/carry_out.hpp"

namespace nocturne::tuner {
namespace {

/// A neighbour that comes and goes all night is the machine as it is.
constexpr int kMostInSession = 3;

/// Good runs that the trial's estimate rests on, or may.
std::vector<space::Run> good_runs(const db::TrialDetail& trial) {
  std::vector<space::Run> runs;
  for (const db::StoredRun& each : trial.runs) {
    const space::Run& run = each.record.run;
    if (!each.in_flight && run.purpose == space::Purpose::Search && run.outcome == space::Outcome::Ok)
      runs.push_back(run);
  }
  return runs;
}

bool is_quiet(const space::Run& run) {
  return run.outcome == space::Outcome::Ok && measure::held_back(run).empty() && measure::under_load(run).empty();
}

}  // namespace

DisturbedDefault::DisturbedDefault(const Session& session, bool is_local)
    : session_(session),
      // Trials in turns with the default share their neighbours with it; curves compose trials from parts.
      never_(!is_local || session.spec.run.method == TrialMethod::Paired || session.spec.objective.target) {}

bool DisturbedDefault::is_disturbed() const {
  const auto trial = session_.store.finished_trial(session_.campaign, 0);
  if (!trial || trial->trial.outcome != space::Outcome::Ok) return false;
  const auto runs = good_runs(session_.store.load_trial(trial->id));
  return !runs.empty() && std::ranges::none_of(runs, is_quiet);
}

JudgedAgain DisturbedDefault::learn(const TrialAnswer& answer) {
  if (never_) return {};
  if (answer.number == 0) disturbed_ = is_disturbed();
  if (answer.number == 0 || answer.runs.empty() || !is_quiet(answer.runs.back().run)) return {};
  if (!disturbed_) disturbed_ = is_disturbed();
  if (!*disturbed_ || measured_ >= kMostInSession) return {};
  ++measured_;
  return measure_again();
}

JudgedAgain DisturbedDefault::measure_again() {
  session_.observer.note("the machine is quiet: the default, which was disturbed, is measured again");
  const auto stored = session_.store.load_numbered_trial(session_.campaign, 0);
  space::Trial trial = stored.trial;
  const auto prepared = session_.prepare(trial.configuration);
  if (!prepared) return {};  // the session ends, or says so when it needs it
  const auto before = std::ssize(session_.store.load_trial(stored.id).runs);
  const GateOrder order{.configuration = trial.configuration,
                        .run = {.purpose = space::Purpose::Search,
                                .steps = trial_fidelity(session_.spec, trial.configuration).steps,
                                .seed = session_.spec.run.seed + static_cast<std::uint64_t>(before)}};
  if (run_here(session_, order, *prepared, stored.id).end != OrderEnd::Finished) return {};
  const auto runs = good_runs(session_.store.load_trial(stored.id));
  const auto summary = measure::summarise(runs, prepared->schedule, session_.spec.objective);
  if (!summary || summary->disturbed) return {};
  disturbed_ = false;
  session_.say(db::Level::Info, fmt::format("trial 0 takes {:.2f} times what its disturbed runs said",
                                            summary->estimate.value / trial.estimate->value));
  trial.estimate = summary->estimate;
  trial.parts = summary->parts;
  session_.store.update_trial(stored.id, db::result_of(trial));
  return judged_again(session_, {trial});
}

}  // namespace nocturne::tuner
