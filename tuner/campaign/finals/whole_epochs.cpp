#include "tuner/campaign/finals/whole_epochs.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "space/objective.hpp"
#include "tuner/campaign/finals/named_trials.hpp"
#include "tuner/campaign/pacing.hpp"
#include "tuner/campaign/trial_runner.hpp"

namespace nocturne::tuner {
namespace {

void train_epochs(Session& session, const db::StoredTrial& trial, const WholeEpochsSettings& settings,
                  WholeEpochsResult& result) {
  const auto prepared = session.prepare(trial.trial.configuration);
  if (!prepared) {
    session.observer.note(fmt::format("trial {} cannot be prepared: {}", trial.trial.number, prepared.error().reason));
    return;
  }
  const double expected = space::total_time(*trial.trial.parts, static_cast<double>(settings.epochs));
  const std::chrono::nanoseconds forecast = forecast_of(expected);
  // The deadline is for hangs, not for a busy minute.
  const auto deadline =
      std::max<std::chrono::nanoseconds>(session.spec.run.deadline, 3 * forecast + std::chrono::seconds(30));
  for (std::int64_t run = 0; run < settings.runs && !session.interruption.requested(); ++run) {
    if (settings.end && session.clock.steady() + forecast > *settings.end) {
      result.out_of_time = true;
      return;
    }
    session.observer.note(fmt::format("trial {} trains {} epochs, process {} of {}", trial.trial.number,
                                      settings.epochs, run + 1, settings.runs));
    const GateOrder order{.configuration = trial.trial.configuration,
                          .run = {.purpose = space::Purpose::Verify,
                                  .epochs = settings.epochs,
                                  .seed = session.spec.run.seed + static_cast<std::uint64_t>(run),
                                  .deadline = deadline}};
    const auto answer = run_here(session, order, *prepared, trial.id);
    const space::Run& finished = answer.run.run;
    if (finished.id.empty()) return;
    if (finished.outcome == space::Outcome::Ok)
      ++result.runs;
    else if (!session.interruption.requested())
      session.observer.note(fmt::format("{}: {}", space::to_text(finished.outcome), finished.reason));
  }
}

}  // namespace

WholeEpochsResult train_whole_epochs(Session& session, const space::Configuration& configuration,
                                     const WholeEpochsSettings& settings) {
  NamedTrials trials(session);
  trials.open();
  const auto trial = trials.trial_of(configuration);
  WholeEpochsResult result;
  if (session.spec.workload.is_synthetic())
    session.observer.note("synthetic images have no epoch of their own: none is trained whole");
  else if (trial && trial->trial.outcome == space::Outcome::Ok && trial->trial.parts)
    train_epochs(session, *trial, settings, result);
  result.interrupted = session.interruption.requested();
  trials.close();
  return result;
}

}  // namespace nocturne::tuner
