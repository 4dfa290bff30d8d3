#include "tuner/own_command/probe_run.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "measure/comparison/disturbance.hpp"
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

/// As the worker asks for where it is to find out (kernels/command/command_run.cpp).
constexpr std::int64_t kDetectSteps = 20;

/// Until the end of the first step.
std::chrono::nanoseconds start_of(const space::Run& run) {
  std::chrono::nanoseconds start{};
  for (const space::Phase& phase : run.phases)
    if (phase.name != measure::kEpochStart) start += phase.wall;
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

}  // namespace

std::expected<CommandProbe, ProbeFailure> sight_command(measure::CommandTemplate command,
                                                        const space::Configuration& configuration,
                                                        const Installation& installation, const ProbePlace& place,
                                                        const measure::RunControl& control) {
  const auto failed = [](std::string reason) { return std::unexpected(ProbeFailure{.reason = std::move(reason)}); };
  command.timing = measure::Timing::Detect;
  if (command.files == measure::Files::PrivateFolder) command.files = measure::Files::Private;  // all shall be told
  if (find_command_worker().empty())
    return failed("the program nocturne-command-worker is not beside nocturne: build it");
  const auto words = measure::fill_words(command, configuration, {.steps = kDetectSteps, .seed = 1});
  if (!words) return failed(words.error());
  const auto launch = measure::launch_settings(configuration, measure::probe_launch_machine());
  if (!launch) return failed(launch.error());
  measure::RunPlan plan;
  plan.id = measure::new_run_id();
  plan.folder = place.runs_folder / plan.id;
  plan.owner = owner_text(place.database);
  plan.argv = command_worker_argv(command, *words, 1, installation);
  plan.environment = launch->variables();
  const std::filesystem::path report = plan.folder / "training.json";
  plan.environment["NOCTURNE_INJECT_REPORT"] = report.string();
  plan.environment["NOCTURNE_INJECT_LOOK"] = fmt::format("{}", kLongestLook.count());
  plan.unset = launch->unset;
  plan.memory = launch->memory;
  plan.deadline = kLongestProbeRun;
  plan.request.configuration = configuration.to_json();
  plan.request.steps = 1;
  const space::Run run = measure::run(plan, control);
  if (run.outcome != space::Outcome::Ok) {
    return std::unexpected(ProbeFailure{.reason = fmt::format("{}: {}", space::to_text(run.outcome), run.reason),
                                        .log_tail = run.log_tail,
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
  return probe;
}

}  // namespace nocturne::tuner
