#include "tuner/executor/own_command.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "measure/run/own_program.hpp"
#include "space/digest.hpp"
#include "space/file_contents.hpp"

namespace nocturne::tuner {
namespace {

namespace fs = std::filesystem;
using measure::CommandTemplate;
using measure::Timing;

std::string_view timing_word(Timing timing) {
  switch (timing) {
    case Timing::Process:
      return "process";
    case Timing::Steps:
      return "steps";
    case Timing::Pattern:
      return "pattern";
    case Timing::Detect:
      break;
  }
  return "detect";
}

std::int64_t run_steps_of(const CommandTemplate& command, const CampaignSpec& spec, const RunOrder& order) {
  // In turns it trains until it is ended: it must not be done before.
  constexpr std::int64_t kPlenty = 20;
  const bool in_turns = order.purpose == space::Purpose::Verify && !command.whole();
  // Where lines mark its steps, the first one only starts the clock.
  const std::int64_t steps = spec.run.steps + (command.timing == Timing::Pattern ? 1 : 0);
  return in_turns ? std::max(steps, kPlenty * order.steps) : steps;
}

/// It trains as it would, by streams of random numbers that begin with the order's seed, until it is as accurate as
/// wanted. A sample is a hundredth of an epoch: as many steps may be missing where it says how accurate it is.
void plan_curve(const PreparedWorker& prepared, const RunOrder& order, measure::RunPlan& plan) {
  constexpr double kSamples = 100;
  const double epoch = measure::steps_per_epoch(prepared.schedule);
  plan.environment["NOCTURNE_INJECT_LEARNING"] = (plan.folder / kLearningFile).string();
  plan.environment["NOCTURNE_INJECT_LEARNING_MODE"] = "curve";
  plan.environment["NOCTURNE_INJECT_SEED"] = std::to_string(order.seed);
  plan.request.steps = std::llround(static_cast<double>(order.epochs) * epoch);
  plan.request.steps_per_sample = std::max<std::int64_t>(1, std::llround(epoch / kSamples));
}

/// A file as long as scripts are, that does not begin as programs do.
bool is_small_text(const fs::path& file) {
  constexpr std::string_view kElf = "\177ELF";
  std::error_code error;
  if (!fs::is_regular_file(file, error) || fs::file_size(file, error) > kLargestScriptBytes) return false;
  const auto beginning = space::read_file(file, kElf.size());
  return beginning && !beginning->starts_with(kElf);
}

}  // namespace

fs::path find_command_worker() {
  return measure::find_own_program("nocturne-command-worker", "NOCTURNE_COMMAND_WORKER_PROGRAM");
}

std::vector<std::string> command_worker_argv(const CommandTemplate& command, const std::vector<std::string>& words,
                                             std::int64_t batch, const Installation& installation) {
  std::vector<std::string> argv = {find_command_worker().string(), "--time", std::string(timing_word(command.timing))};
  if (command.timing == Timing::Pattern)
    argv.insert(argv.end(), {"--pattern", command.pattern, "--batch", std::to_string(batch)});
  if (!command.accuracy.empty()) argv.insert(argv.end(), {"--accuracy", command.accuracy});
  argv.insert(argv.end(), {"--folder", command.folder.string()});
  const fs::path kernels = installation.source_root / "kernels";
  const bool steps = command.timing == Timing::Steps || command.timing == Timing::Detect;
  if (steps) argv.insert(argv.end(), {"--shim", (kernels / "python/nocturne_steps.py").string()});
  if (steps || !command.levers.empty()) argv.insert(argv.end(), {"--inject", (kernels / "inject").string()});
  if (command.files != measure::Files::InPlace) {
    argv.insert(argv.end(), {"--view", "auto"});
    if (command.files == measure::Files::Private) argv.emplace_back("--cover-outside");
    for (const fs::path& path : command.shared) argv.insert(argv.end(), {"--share", path.string()});
  }
  argv.emplace_back("--");
  argv.insert(argv.end(), words.begin(), words.end());
  return argv;
}

std::string_view interpreter_of(std::string_view word) {
  constexpr auto kInterpreters = std::to_array<std::pair<std::string_view, std::string_view>>(
      {{".py", "python3"}, {".sh", "sh"}, {".pl", "perl"}, {".jl", "julia"}});
  for (const auto& [ending, interpreter] : kInterpreters)
    if (word.ends_with(ending)) return interpreter;
  return {};
}

fs::path script_of(const std::vector<std::string>& words, const fs::path& folder) {
  const auto file = [&](const std::string& word) { return (folder / word).lexically_normal(); };
  const auto is_named = [&](const std::string& word) {
    std::error_code error;
    return !interpreter_of(word).empty() && fs::is_regular_file(file(word), error);
  };
  if (const auto named = std::ranges::find_if(words, is_named); named != words.end()) return file(*named);
  const auto is_script = [&](const std::string& word) { return is_small_text(file(word)); };
  const auto found = std::ranges::find_if(words, is_script);
  return found != words.end() ? file(*found) : fs::path();
}

std::string command_identity(const CommandTemplate& command, const std::vector<std::string>& words) {
  std::string all = measure::to_json(command).dump();
  for (const std::string& word : words)
    if (!word.empty()) all += '\0' + measure::state_of_file(command.folder / word);
  all += '\0' + measure::state_of_sources(command);
  return space::sha256(all);
}

std::expected<PreparedWorker, PreparationFailure> prepare_command(const CampaignSpec& spec,
                                                                  const space::Configuration& configuration,
                                                                  const Installation& installation,
                                                                  PreparedWorker prepared) {
  const CommandTemplate& command = *prepared.own;
  const auto unsupported = [](std::string reason) {
    return std::unexpected(PreparationFailure{space::Outcome::Unsupported, std::move(reason), ""});
  };
  if (find_command_worker().empty()) {
    return unsupported(
        "the program nocturne-command-worker is not beside nocturne: build it, or name it in "
        "NOCTURNE_COMMAND_WORKER_PROGRAM");
  }
  const measure::CommandRun run{.steps = spec.run.steps, .seed = spec.run.seed};
  const auto words = measure::fill_words(command, configuration, run);
  if (!words) return unsupported(words.error());
  const auto variables = measure::fill_environment(command, configuration, run);
  if (!variables) return unsupported(variables.error());
  for (const auto& [name, value] : *variables) {
    prepared.launch.set[name] = value;
    std::erase(prepared.launch.unset, name);
  }
  // Steps of another batch size would be compared as if they were as much work.
  if (command.timing == Timing::Steps && configuration.find("batch") != nullptr)
    prepared.launch.set["NOCTURNE_INJECT_BATCH"] = std::to_string(prepared.schedule.batch);
  prepared.argv = command_worker_argv(command, *words, prepared.schedule.batch, installation);
  prepared.worker = command_identity(command, *words);
  return prepared;
}

void ask_for_epoch_ends(const measure::EpochEnds& cut, std::int64_t batch,
                        std::map<std::string, std::string>& environment) {
  environment["NOCTURNE_INJECT_EPOCH"] = fmt::format("{},{},{}", cut.steps, cut.examples, cut.every);
  if (batch > 0) environment["NOCTURNE_INJECT_BATCH"] = std::to_string(batch);
}

void plan_command(const CampaignSpec& spec, const space::Configuration& configuration, const PreparedWorker& prepared,
                  const RunOrder& order, const Installation& installation, measure::RunPlan& plan) {
  const CommandTemplate& command = *prepared.own;
  const measure::CommandRun run{.steps = run_steps_of(command, spec, order), .seed = order.seed};
  const bool learns = order.learning != RunOrder::Learning::None;
  // Both could be filled when the configuration was prepared.
  if (const auto words = measure::fill_words(command, configuration, run)) {
    CommandTemplate started = command;
    if (learns) started.timing = Timing::Process;  // the module ends it; its steps are not timed
    plan.argv = command_worker_argv(started, *words, prepared.schedule.batch, installation);
  }
  if (learns) {
    plan.environment["NOCTURNE_INJECT_LEARNING"] = (plan.folder / kLearningFile).string();
    plan.environment["NOCTURNE_INJECT_LEARNING_MODE"] = order.learning == RunOrder::Learning::Start ? "start" : "run";
    plan.environment["NOCTURNE_INJECT_SEED"] = std::to_string(order.seed);
    plan.environment["NOCTURNE_STEPS_LIMIT"] = std::to_string(order.steps);
  }
  if (const auto variables = measure::fill_environment(command, configuration, run))
    for (const auto& [name, value] : *variables) plan.environment[name] = value;
  plan.request.accuracy = false;
  if (!command.step.empty()) plan.environment["NOCTURNE_INJECT_STEP"] = command.step;
  if (order.curve) return plan_curve(prepared, order, plan);
  if (command.epoch_ends.steps > 0 && !learns) ask_for_epoch_ends(command.epoch_ends, 0, plan.environment);
  plan.request.epochs = 0;
  if (command.whole() || learns) {
    plan.request.steps = 1;
    plan.request.steps_per_sample = 1;
  }
}

void wait_for_turns(const CommandTemplate& command, measure::PairSide& side, measure::PairPlan& plan) {
  if (command.timing == Timing::Steps) return;  // nocturne_steps reads the turns
  side.mode = command.whole() ? measure::TurnMode::Whole : measure::TurnMode::Signal;
  if (command.whole())
    plan.total_limit = plan.sides[0].plan.deadline + plan.sides[1].plan.deadline + std::chrono::minutes(1);
  else
    side.plan.request.steps = protocol::kUntilEnded;
}

}  // namespace nocturne::tuner
