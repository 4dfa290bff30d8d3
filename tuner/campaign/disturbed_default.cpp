#include "tuner/campaign/disturbed_default.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "measure/comparison/disturbance.hpp"
#include "measure/comparison/statistics.hpp"
#include "tuner/campaign/answer/answer.hpp"
#include "tuner/campaign/trial_runner.hpp"
#include "tuner/executor/carry_out.hpp"

namespace nocturne::tuner {
namespace {

/// A neighbour that comes and goes all night is the machine as it is.
constexpr int kMostInSession = 3;

bool is_quiet(const space::Run& run) {
  return run.outcome == space::Outcome::Ok && !measure::was_slowed(run);
}

}  // namespace

DisturbedDefault::DisturbedDefault(const Session& session, bool is_local)
    : session_(session),
      // Trials in turns with the default share their neighbours with it; curves compose trials from parts.
      never_(!is_local || session.spec.run.method == TrialMethod::Paired || session.spec.objective.target) {}

bool DisturbedDefault::is_disturbed() const {
  const auto trial = session_.store.finished_trial(session_.campaign, 0);
  if (!trial || trial->trial.outcome != space::Outcome::Ok) return false;
  const auto runs = searched_runs(session_.store.load_trial(trial->id));
  return !runs.empty() && std::ranges::none_of(runs, is_quiet);
}

std::vector<space::Trial> DisturbedDefault::learn(const TrialAnswer& answer) {
  const bool quiet = !answer.runs.empty() && is_quiet(answer.runs.back().run);
  if (never_ || answer.number == 0 || !quiet || measured_ >= kMostInSession) return {};
  if (!disturbed_) disturbed_ = is_disturbed();
  if (!*disturbed_) return {};
  ++measured_;
  return measure_again();
}

std::vector<space::Trial> DisturbedDefault::measure_again() {
  session_.observer.note("the machine is quiet: the default, which was disturbed, is measured again");
  const auto detail = session_.store.load_trial(session_.store.load_numbered_trial(session_.campaign, 0).id);
  space::Trial trial = detail.stored.trial;
  const auto prepared = session_.prepare(trial.configuration);
  if (!prepared) return {};  // the session ends, or says so when it needs it
  const GateOrder order{.configuration = trial.configuration,
                        .run = {.purpose = space::Purpose::Search,
                                .steps = trial_fidelity(session_.spec, trial.configuration).steps,
                                .seed = session_.spec.run.seed + detail.runs.size()}};
  const auto answer = run_here(session_, order, *prepared, detail.stored.id);
  if (answer.end != OrderEnd::Finished || !is_quiet(answer.run.run)) return {};
  auto runs = searched_runs(detail);
  runs.push_back(answer.run.run);
  const auto summary = measure::summarise(runs, prepared->schedule, session_.spec.objective);
  if (!summary || summary->disturbed) return {};
  disturbed_ = false;
  session_.say(db::Level::Info, fmt::format("trial 0 takes {:.2f} times what its disturbed runs said",
                                            summary->estimate.value / trial.estimate->value));
  trial.estimate = summary->estimate;
  trial.parts = summary->parts;
  session_.store.update_trial(detail.stored.id, db::result_of(trial));
  return {trial};
}

}  // namespace nocturne::tuner
