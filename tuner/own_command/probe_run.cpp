#include "tuner/own_command/probe_run.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "measure/comparison/disturbance.hpp"
#include "measure/comparison/location.hpp"
#include "measure/comparison/statistics.hpp"
#include "measure/run/event_reader.hpp"
#include "measure/run/launch.hpp"
#include "tuner/campaign/session.hpp"
#include "tuner/executor/own_command.hpp"
#include "tuner/executor/stray_runs.hpp"

namespace nocturne::tuner {
namespace {

/// Longer than a night's campaign could use: who trains for days measures steps, not processes.
constexpr std::chrono::hours kLongestProbeRun{2};

/// For steps that come in rounds: a few seconds of rollouts are usual between two updates of a policy.
constexpr std::chrono::seconds kLongestLook{8};

/// Until the end of the first step.
std::chrono::nanoseconds start_of(const space::Run& run) {
  std::chrono::nanoseconds start{};
  for (const space::Phase& phase : run.phases)
    if (measure::is_of_start(phase.name)) start += phase.wall;
  return start;
}

/// Unix time in ns; 0: no step was seen.
std::int64_t first_step_ended(const space::Run& run) {
  return run.samples.empty() ? 0 : run.started_unix_ns + start_of(run).count();
}

std::chrono::nanoseconds time_beside_steps(const space::Run& run) {
  std::chrono::nanoseconds rest = run.wall - start_of(run);
  for (const space::Sample& sample : run.samples) rest -= sample.wall;
  return std::max(rest, std::chrono::nanoseconds{0});
}

/// One run as the configuration has it; the error is a sentence.
std::expected<measure::RunPlan, std::string> plan_probe(const measure::CommandTemplate& command,
                                                        const space::Configuration& configuration,
                                                        const Installation& installation, const ProbePlace& place,
                                                        std::int64_t steps) {
  if (find_command_worker().empty())
    return std::unexpected("the program nocturne-command-worker is not beside nocturne: build it");
  const auto words = measure::fill_words(command, configuration, {.steps = steps, .seed = 1});
  if (!words) return std::unexpected(words.error());
  const auto launch = measure::launch_settings(configuration, measure::probe_launch_machine());
  if (!launch) return std::unexpected(launch.error());
  measure::RunPlan plan;
  plan.id = measure::new_run_id();
  plan.folder = place.runs_folder / plan.id;
  plan.owner = owner_text(place.database);
  plan.argv = command_worker_argv(command, *words, 1, installation);
  plan.environment = launch->variables();
  plan.unset = launch->unset;
  plan.memory = launch->memory;
  plan.request.configuration = configuration.to_json();
  return plan;
}

}  // namespace

std::expected<CommandProbe, ProbeFailure> sight_command(measure::CommandTemplate command,
                                                        const space::Configuration& configuration,
                                                        const Installation& installation, const ProbePlace& place,
                                                        const measure::RunControl& control, std::int64_t steps) {
  const bool by_pattern = command.timing == measure::Timing::Pattern;
  if (!by_pattern) command.timing = measure::Timing::Detect;
  if (command.files == measure::Files::PrivateFolder) command.files = measure::Files::Private;  // all shall be told
  auto planned = plan_probe(command, configuration, installation, place, steps);
  if (!planned) return std::unexpected(ProbeFailure{.reason = std::move(planned.error())});
  measure::RunPlan& plan = *planned;
  const std::filesystem::path report = plan.folder / "training.json";
  plan.environment["NOCTURNE_INJECT_REPORT"] = report.string();
  plan.environment["NOCTURNE_INJECT_LOOK"] = fmt::format("{}", kLongestLook.count());
  plan.deadline = kLongestProbeRun;
  plan.request.steps = by_pattern && !command.whole() ? steps : 1;
  const space::Run run = measure::run(plan, control);
  // A short training, which did what it had to do.
  const bool ended_early =
      by_pattern && run.outcome == space::Outcome::Failed && run.exit_code == 0 && !run.samples.empty();
  if (run.outcome != space::Outcome::Ok && !ended_early) {
    return std::unexpected(ProbeFailure{.reason = fmt::format("{}: {}", space::to_text(run.outcome), run.reason),
                                        .log_tail = run.log_tail,
                                        .nonsense = run.outcome == space::Outcome::ProtocolError,
                                        .interrupted = control.stop.stop_requested(),
                                        .by_others = killed_by_others(run, control.stop)});
  }
  CommandProbe probe{.wall = run.wall,
                     .beside = time_beside_steps(run),
                     .log_tail = run.log_tail,
                     .training = read_training_report(report),
                     .files = read_written_files(plan.folder / "view.json", first_step_ended(run)),
                     .under_load = measure::under_load(run)};
  std::error_code ignored;
  std::filesystem::remove_all(plan.folder, ignored);
  if (run.ready.is_object() && run.ready.value("timing", "") == "steps") {
    probe.timing = measure::Timing::Steps;
    probe.steps = measure::count_steps(run.samples);
    probe.ended_by_itself = probe.steps < kDetectSteps || (probe.training && probe.training->ended);
  }
  if (by_pattern) {
    probe.timing = measure::Timing::Pattern;
    probe.steps = measure::count_steps(run.samples);
    probe.ended_by_itself = ended_early;
    if (!run.samples.empty() && !command.whole()) {
      probe.steps_of_line = std::ranges::max(run.samples, {}, &space::Sample::steps).steps;
      probe.step_seconds = measure::median(measure::step_seconds(run));
    }
  }
  return probe;
}

std::optional<measure::EpochEnds> epoch_cut(const CommandProbe& seen) {
  constexpr std::int64_t kMostEpochs = 10;  // of what comes back more rarely: a run would have cut epochs alone
  constexpr std::int64_t kSteps = 5;
  if (seen.timing != measure::Timing::Steps || seen.ended_by_itself || !seen.training) return std::nullopt;
  const SeenTraining& training = *seen.training;
  const bool of_loader = training.framework == "pytorch" && training.examples_per_epoch;
  const bool of_fit = training.unit == "batch";  // Keras
  if ((!of_loader && !of_fit) || training.round || training.steps_per_epoch.value_or(0) < 2 * kSteps)
    return std::nullopt;
  // Behind the first cut epoch come as many as are alike only together, and behind those the beginning of another.
  const double epochs = epochs_trained(training).value_or(0);
  std::int64_t every = training.ends_repeat.value_or(1);
  if (every > kMostEpochs || epochs < static_cast<double>(every + 2)) every = 1;
  if (epochs < 3) return std::nullopt;
  const std::int64_t about = *training.steps_per_epoch * training.batch.value_or(1);
  const std::int64_t of_epoch = training.examples_per_epoch.value_or(about);
  return measure::EpochEnds{.steps = kSteps, .examples = training.loader_examples.value_or(of_epoch), .every = every};
}

std::optional<EpochEndProbe> sight_epoch_end(measure::CommandTemplate command,
                                             const space::Configuration& configuration, const SeenTraining& training,
                                             measure::EpochEnds cut, const Installation& installation,
                                             const ProbePlace& place, std::chrono::seconds longest,
                                             const measure::RunControl& control) {
  command.timing = measure::Timing::Steps;
  const std::int64_t steps = cut.all_steps();
  auto planned = plan_probe(command, configuration, installation, place, steps);
  if (!planned) return std::nullopt;
  ask_for_epoch_ends(cut, training.batch.value_or(0), planned->environment);
  planned->deadline = longest;
  planned->request.steps = steps;
  const space::Run run = measure::run(*planned, control);
  std::error_code ignored;
  std::filesystem::remove_all(planned->folder, ignored);
  if (control.stop.stop_requested()) return std::nullopt;
  EpochEndProbe probe{.cut = cut, .wall = run.wall};
  if (run.outcome == space::Outcome::Ok) probe.seen = measure::epoch_end(run);
  return probe;
}

std::optional<measure::EpochEnds> cut_of_runs(const EpochEndProbe& probe, const CommandProbe& seen,
                                              std::optional<std::chrono::nanoseconds> wall) {
  constexpr double kShare = 0.005, kShort = 5, kOfAll = 60;
  using Seconds = std::chrono::duration<double>;
  const SeenTraining& training = *seen.training;
  const bool compiles = std::ranges::any_of(training.levers, &SeenLever::compiles);
  const double epoch = training.epoch_seconds().value_or(0);
  if (!probe.seen || !(compiles || probe.seen->each >= kShare * epoch)) return std::nullopt;
  const double room = wall ? Seconds(*wall).count() / kOfAll : 0;
  const double longest = std::max({kShort, Seconds(seen.wall).count(), room});
  measure::EpochEnds two = probe.cut;
  two.every = 1;
  for (const measure::EpochEnds& cut : {probe.cut, two}) {
    // Steps beyond those of two epochs, which a run has anyway.
    const auto more = static_cast<double>(cut.all_steps() - two.all_steps());
    if (probe.seconds(cut) + more * training.step_seconds.value_or(0) <= longest) return cut;
  }
  return std::nullopt;
}

}  // namespace nocturne::tuner
