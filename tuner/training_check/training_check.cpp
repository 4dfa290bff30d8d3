#include "tuner/training_check/training_check.hpp"

#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "space/outcome.hpp"

namespace nocturne::tuner {
namespace {

/// Four steps, and whatever compiling they need.
constexpr std::chrono::minutes kExactDeadline{15};
/// For hangs: the slowest row known takes a quarter of it.
constexpr std::chrono::hours kEpochDeadline{1};

void end_check(CheckedTraining& found, TrainingVerdict verdict, std::string reason) {
  found.verdict = verdict;
  found.reason = std::move(reason);
}

void end_check(CheckedTraining& found, const ReferenceFailure& failure) {
  end_check(found, failure.interrupted ? TrainingVerdict::Interrupted : TrainingVerdict::Failed, failure.reason);
}

/// False: the run did not end well, and `found` says how. `when`: words before the reason of a loss that is no number.
bool ended_well(const space::Run& run, std::string_view when, CheckedTraining& found) {
  switch (run.outcome) {
    case space::Outcome::Ok:
      return true;
    case space::Outcome::Killed:
      end_check(found, TrainingVerdict::Interrupted, "interrupted");
      return false;
    case space::Outcome::Unsupported:
      end_check(found, TrainingVerdict::Unsupported, run.reason);
      return false;
    case space::Outcome::Diverged:
      end_check(found, TrainingVerdict::Wrong, fmt::format("{}{}", when, run.reason));
      return false;
    default:
      end_check(found, TrainingVerdict::Failed,
                fmt::format("{}: {} (its log: {})", space::to_text(run.outcome), run.reason,
                            (std::filesystem::path(run.folder) / "log.txt").string()));
      return false;
  }
}

}  // namespace

std::string_view to_text(TrainingVerdict verdict) {
  switch (verdict) {
    case TrainingVerdict::Right:
      return "right";
    case TrainingVerdict::Wrong:
      return "wrong";
    case TrainingVerdict::Unsupported:
      return "unsupported";
    case TrainingVerdict::Failed:
      return "failed";
    case TrainingVerdict::Interrupted:
      break;
  }
  return "interrupted";
}

CheckedTraining TrainingCheck::check(const space::Configuration& configuration) {
  CheckedTraining found;
  const auto prepared = runs_.prepare(configuration);
  if (!prepared) {
    const PreparationFailure& failure = prepared.error();
    const TrainingVerdict verdict = failure.outcome == space::Outcome::Killed        ? TrainingVerdict::Interrupted
                                    : failure.outcome == space::Outcome::Unsupported ? TrainingVerdict::Unsupported
                                                                                     : TrainingVerdict::Failed;
    end_check(found, verdict, failure.reason);
  } else if (prepared->own) {
    end_check(found, TrainingVerdict::Unsupported,
              "is a program of your own: only its time is known, not what it learns");
  } else if (exact_steps(configuration, *prepared, found)) {
    epoch(configuration, *prepared, found);
  }
  return found;
}

bool TrainingCheck::exact_steps(const space::Configuration& configuration, const PreparedWorker& prepared,
                                CheckedTraining& found) {
  const std::int64_t steps = measure::kMostGateSteps;
  const auto reference = reference_.exact(prepared.schedule.batch, steps);
  if (!reference) {
    end_check(found, reference.error());
    return false;
  }
  const space::Run run = runs_.train(configuration, prepared,
                                     {.purpose = space::Purpose::Gate,
                                      .steps = steps,
                                      .seed = kCheckedSeed,
                                      .deadline = kExactDeadline,
                                      .gate = protocol::GateRequest{.steps = steps},
                                      .initial = (*reference)->initial});
  if (!ended_well(run, "without dropout, ", found)) return false;
  const measure::GateTolerances tolerances =
      measure::gate_tolerances(configuration.text_of("precision", "f32"), measure::is_normalised((*reference)->run));
  auto compared = measure::compare_gate((*reference)->run, run, tolerances);
  if (!compared) {
    found.no_exact = compared.error();
    return true;
  }
  found.exact = *std::move(compared);
  if (!found.exact->agrees) end_check(found, TrainingVerdict::Wrong, found.exact->difference.sentence);
  return found.exact->agrees;
}

void TrainingCheck::epoch(const space::Configuration& configuration, const PreparedWorker& prepared,
                          CheckedTraining& found) {
  const auto references = reference_.losses(prepared.schedule.batch);
  if (!references) return end_check(found, references.error());
  const space::Run run = runs_.train(configuration, prepared,
                                     {.purpose = space::Purpose::Gate,
                                      .epochs = 1,
                                      .accuracy = true,
                                      .seed = kCheckedSeed,
                                      .deadline = kEpochDeadline});
  found.ready = run.ready;
  found.accuracy = run.accuracy;
  if (!ended_well(run, "", found)) return;
  const auto losses = measure::first_losses(run, kBandSteps);
  if (!losses) return end_check(found, TrainingVerdict::Failed, losses.error());
  found.first_loss = losses->front();
  auto judged = measure::judge_first_losses(**references, *losses);
  if (!judged) return end_check(found, TrainingVerdict::Failed, judged.error());
  found.band = *std::move(judged);
  if (!found.band->inside) {
    return end_check(found, TrainingVerdict::Wrong,
                     fmt::format("its losses leave the band of the reference at step {}: {}", found.band->step,
                                 found.band->sentence));
  }
  if (!found.accuracy) return end_check(found, TrainingVerdict::Failed, "the worker reports no test accuracy");
  if (found.accuracy->accuracy < kLeastAccuracy) {
    return end_check(found, TrainingVerdict::Wrong,
                     fmt::format("its test accuracy after one epoch is {:.2f} %, at least {:g} % are expected",
                                 100 * found.accuracy->accuracy, 100 * kLeastAccuracy));
  }
  end_check(found, TrainingVerdict::Right, {});
}

}  // namespace nocturne::tuner
