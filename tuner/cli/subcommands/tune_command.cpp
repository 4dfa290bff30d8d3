#include "tuner/cli/subcommands/tune_command.hpp"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <ostream>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "db/store.hpp"
#include "measure/run/launch.hpp"
#include "space/word_list.hpp"
#include "space/write_file.hpp"
#include "tuner/campaign/pacing.hpp"
#include "tuner/campaign/pair_limits.hpp"
#include "tuner/campaign/stored_document.hpp"
#include "tuner/campaign_file/slurm_section.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/choice/value_option.hpp"
#include "tuner/cli/measuring/measurement_context.hpp"
#include "tuner/cli/measuring/signals.hpp"
#include "tuner/cli/output/format.hpp"
#include "tuner/cli/output/seen_training_lines.hpp"
#include "tuner/deploy/shell_quote.hpp"
#include "tuner/executor/interruption.hpp"
#include "tuner/installation/invocation.hpp"
#include "tuner/own_command/command_document.hpp"
#include "tuner/own_command/probe_run.hpp"
#include "tuner/own_command/step_lines.hpp"
#include "tuner/own_command/utf8.hpp"

namespace nocturne::cli {
namespace {

namespace fs = std::filesystem;
using measure::Timing;

/// Where nobody says when to stop.
constexpr std::int64_t kUsualTrials = 40;

/// Campaigns of the database that have the same name, the last generations of each.
struct EarlierCampaigns {
  std::optional<db::CampaignSummary> same;   ///< tunes the same command
  std::optional<db::CampaignSummary> other;  ///< began behind it, or alone, and tunes another one
};

EarlierCampaigns earlier_campaigns(const Context& context, const nlohmann::json& document) {
  std::error_code ignored;
  if (!fs::exists(context.database(), ignored) || fs::is_empty(context.database(), ignored)) return {};
  const auto store = db::Store::open(context.database(), db::Mode::ReadOnly);
  EarlierCampaigns found;
  for (const db::CampaignSummary& each : store.list_campaigns()) {
    if (each.name != document["campaign"].get<std::string>()) continue;
    const nlohmann::json worker = each.spec.value("worker", nlohmann::json::object());
    const auto same = [&](const char* key) {
      return worker.value(key, nlohmann::json()) == document["worker"].value(key, nlohmann::json());
    };
    const nlohmann::json time = worker.value("time", nlohmann::json()), asked = document["worker"]["time"];
    const bool is_same =
        same("template") && same("folder") && (time == asked || (time.is_string() && asked.is_string()));
    auto& last = is_same ? found.same : found.other;
    if (!last || each.id > last->id) last = each;
  }
  if (found.same && found.other && found.other->id < found.same->id) found.other.reset();
  return found;
}

/// What the user should know before a campaign's answer, and its profile, become another command's.
std::string name_is_taken(const db::CampaignSummary& other) {
  const measure::CommandTemplate command = tuner::sections_of(other.spec).worker.own;
  std::vector<std::string> words;
  for (const auto& group : command.groups) words.insert(words.end(), group.begin(), group.end());
  const std::string what = words.empty()
                               ? "a campaign file's"
                               : fmt::format("of '{}' in {}", shortened(one_line(deploy::shell_command(words)), 100),
                                             command.folder.string());
  return fmt::format(
      "'{}' was {} so far: its answer, and its profile, will be those of this command. --name keeps both.\n",
      other.name, printable(what));
}

/// Whether the campaign would be the same one if it began now: a script that was edited since is another one.
bool is_still_the_same(const db::CampaignSummary& campaign, const fs::path& folder, const space::Facts& facts) {
  const auto now = tuner::parse_campaign(campaign.spec.dump(), campaign.name + ".json", folder, facts);
  return now && now->identity() == campaign.identity;
}

tuner::CampaignSpec parsed(const Context& context, const nlohmann::json& document, const fs::path& folder,
                           const space::Facts& facts) {
  const std::string name = document["campaign"].get<std::string>() + ".json";
  const std::string text = document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
  return value_or_refuse(context, tuner::parse_campaign(text, name, folder, facts));
}

/// Where the output looks like steps: how they would be timed, behind a sentence that says why. Empty: it does not.
std::string pattern_advice(const Context& context, const std::string& output, std::string_view why) {
  const auto steps = tuner::find_step_lines(output);
  if (!steps) return {};
  const std::string examples = steps->examples ? fmt::format(" --examples {}", *steps->examples) : "";
  return fmt::format(
      "Its output looks like steps: {}\n"
      "{}:\n  {}\n",
      shortened(one_line(steps->line), 60), why,
      tuner::command_text("tune", fmt::format("--pattern {}{} -- {}", deploy::shell_quote(steps->pattern), examples,
                                              deploy::shell_command(context.command))));
}

/// For a pattern that takes the number of a step for its seconds. Empty for others.
std::string nonsense_advice(const tuner::CampaignSpec& spec, const tuner::ProbeFailure& failure) {
  const measure::CommandTemplate& own = spec.worker.own;
  if (!failure.nonsense || own.timing != Timing::Pattern || own.whole()) return {};
  return ". What a group without a name holds is the seconds of a step; (?P<step>...) is its number "
         "('nocturne schema campaign' has the others)";
}

/// For a script that asks its user something, as input() of Python does. Empty for others.
std::string input_advice(const Context& context, const tuner::ProbeFailure& failure) {
  if (failure.reason.find("EOFError: EOF when reading a line") == std::string::npos) return {};
  const std::string piped = "yes | " + deploy::shell_command(context.command);
  return fmt::format(
      ". It asks for input, and nobody is there to answer in a night: give the answers by its options, or by a pipe, "
      "as in: {}",
      tuner::command_text("tune", "-- sh -c " + deploy::shell_quote(piped)));
}

/// Whether a run of it writes nothing for real. `command`: an OwnCommand, or its template.
bool is_private(const auto& command) {
  return command.files == measure::Files::Private && command.shared.empty();
}

/// One more run, where one may show what stands between epochs. Never where it would write for real: the checkpoint of
/// an epoch of a few steps would stand where that of a training stood.
std::optional<tuner::EpochEndProbe> look_between_epochs(const Context& context, const tuner::CampaignSpec& spec,
                                                        const tuner::CommandProbe& seen,
                                                        std::optional<std::chrono::nanoseconds> wall,
                                                        const tuner::Installation& installation,
                                                        const measure::RunControl& control) {
  constexpr std::chrono::seconds kLongest{60};
  const auto cut = tuner::epoch_cut(seen);
  const measure::CommandTemplate& own = spec.worker.own;
  if (!cut || !is_private(own)) return std::nullopt;
  *context.err << fmt::format("Once more, with its first {} cut short: what stands between epochs?\n",
                              cut_epochs_text(*cut));
  const auto longest = std::chrono::ceil<std::chrono::seconds>(
      std::max(2 * seen.wall + kLongest, wall.value_or(std::chrono::nanoseconds{0}) / 30));
  auto probe =
      tuner::sight_epoch_end(own, spec.space.default_configuration(), *seen.training, *cut, installation,
                             {.runs_folder = context.runs_folder(), .database = context.database()}, longest, control);
  if (probe) probe->of_runs = tuner::cut_of_runs(*probe, seen, wall);
  return probe;
}

/// Of all that is trained; empty: not known.
std::optional<double> step_seconds_of(const tuner::CommandProbe& seen) {
  return seen.training ? seen.training->mean_step_seconds() : seen.step_seconds;
}

/// Steps that are only seen together.
std::int64_t steps_together(const tuner::CommandProbe& seen) {
  return seen.training && seen.training->round ? seen.training->round->steps : seen.steps_of_line;
}

/// The most that a run can be asked for: the last ones may be a smaller epoch's.
std::int64_t steps_there_are(const tuner::CommandProbe& seen) {
  if (seen.ended_by_itself) return std::max<std::int64_t>(2, seen.steps);
  const auto all = seen.training ? seen.training->all_steps() : std::nullopt;
  return all ? std::max<std::int64_t>(2, *all - 2) : std::numeric_limits<std::int64_t>::max();
}

/// So many steps, or whole rounds of them. `fewest`: rounds.
std::int64_t in_rounds(const tuner::CommandProbe& seen, std::int64_t steps, std::int64_t fewest) {
  const std::int64_t most = steps_there_are(seen);
  const std::int64_t each = steps_together(seen), rounds = std::max<std::int64_t>(1, most / each);
  if (each == 1) return std::min(steps, most);
  return std::min(rounds, std::max(fewest, (steps + each - 1) / each)) * each;
}

constexpr std::int64_t kFewestOfTurn = 4;
constexpr double kOfFaster = 1.5;  // a configuration that is so much faster has turns of so many more steps

/// Steps of a turn. Behind the pause before it the first steps are not timed, and should be few beside the others.
std::int64_t wanted_of_turn(const tuner::CommandProbe& seen) {
  constexpr double kSeconds = 0.6;
  constexpr std::int64_t kMost = 100;
  return std::clamp(static_cast<std::int64_t>(kSeconds / step_seconds_of(seen).value()), kFewestOfTurn, kMost);
}

/// Steps behind the pause before a turn that are not timed: whole lines of them.
std::int64_t left_out_of_turn(const tuner::CommandProbe& seen) {
  return std::max(tuner::PairLimits::kLeftOut, seen.steps_of_line);
}

/// Steps of a training that has room for so many turns.
std::int64_t steps_of_turns(const tuner::CommandProbe& seen, std::int64_t turns) {
  const std::int64_t each = std::max(wanted_of_turn(seen), seen.steps_of_line);
  return turns * static_cast<std::int64_t>(std::ceil(kOfFaster * static_cast<double>(each))) +
         turns * left_out_of_turn(seen);
}

/// The command went wrong, or its pattern finds nothing.
[[noreturn]] void refuse_to_go_on(const Context& context, const tuner::CampaignSpec& spec,
                                  const tuner::ProbeFailure& failure) {
  if (failure.by_others) {
    refuse_to_tune(
        context, ExitCode::Unavailable,
        fmt::format("another hand ended the run of your command ({}), which says nothing about it: start again",
                    one_line(failure.reason)));
  }
  *context.err << printable(failure.log_tail);
  const bool by_pattern = spec.worker.own.timing == Timing::Pattern;
  if (by_pattern) *context.err << pattern_advice(context, failure.log_tail, "They would be found by this");
  refuse_to_tune(context, ExitCode::Negative,
                 fmt::format("{}: {}{}{}", by_pattern ? "--pattern finds no steps" : "your command does not run",
                             one_line(failure.reason), input_advice(context, failure), nonsense_advice(spec, failure)));
}

/// Of a command whose steps a pattern finds nothing says how many there are. A pair needs more of them than were seen:
/// whether it has those is seen in one more run, of a minute at most.
void look_for_its_end(const tuner::CampaignSpec& spec, const tuner::Installation& installation,
                      const tuner::ProbePlace& place, const measure::RunControl& control, tuner::CommandProbe& seen) {
  constexpr double kLongest = 60;
  if (seen.timing != Timing::Pattern || seen.ended_by_itself || !seen.step_seconds) return;
  const std::int64_t steps = steps_of_turns(seen, tuner::VerifySettings{}.slices);
  if (steps <= seen.steps || static_cast<double>(steps) * *seen.step_seconds > kLongest) return;
  auto longer =
      tuner::sight_command(spec.worker.own, spec.space.default_configuration(), installation, place, control, steps);
  if (longer) seen = *std::move(longer);
}

/// Whether a file is redirected to standard input, or a pipe that was written to.
bool has_input() {
  struct stat about{};
  if (::fstat(STDIN_FILENO, &about) != 0) return false;
  if (S_ISREG(about.st_mode)) return ::lseek(STDIN_FILENO, 0, SEEK_CUR) < about.st_size;
  pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  return S_ISFIFO(about.st_mode) && ::poll(&input, 1, 0) == 1 && (input.revents & POLLIN) != 0;
}

/// Runs the command once. Evaluations on the way to an accuracy are counted by themselves.
tuner::CommandProbe sight(const Context& context, const tuner::CampaignSpec& spec, bool to_accuracy,
                          std::optional<std::chrono::nanoseconds> wall, const tuner::Installation& installation) {
  if (const std::string missing = missing_supervisor(); !missing.empty())
    refuse_to_tune(context, ExitCode::Unavailable, missing);
  if (const auto made = context.make_folders(); !made) refuse_to_tune(context, ExitCode::Unavailable, made.error());
  if (has_input()) {
    *context.err << "Its runs read nothing from standard input, whose contents stay here: name a script by its file "
                    "(nocturne tune -- python train.py), and data by sh -c 'COMMAND < FILE'.\n";
  }
  *context.err << "Your command runs once as it is: does it work, are its steps seen, how long do they take?\n";
  tuner::Interruption interruption;
  const SignalWatch signals(interruption, {.grace = {},
                                           .say = [](const std::string&) {},
                                           .log = context.data_folder() / "logs" / (spec.name + ".log"),
                                           .out_is_terminal = context.out_is_terminal,
                                           .err_is_terminal = context.err_is_terminal});
  const tuner::ProbePlace place{.runs_folder = context.runs_folder(), .database = context.database()};
  const measure::RunControl control{.stop = interruption.token()};
  auto seen = tuner::sight_command(spec.worker.own, spec.space.default_configuration(), installation, place, control);
  if (!seen && seen.error().interrupted) throw Refusal{signals.interruption_code()};
  if (!seen) refuse_to_go_on(context, spec, seen.error());
  const std::string took = seconds_text(std::chrono::duration<double>(seen->wall).count());
  if (seen->timing == Timing::Steps || seen->step_seconds) {
    *context.err << fmt::format("Its steps are seen: {} in {}.\n", seen->steps, took);
  } else {
    *context.err << fmt::format("It took {}{} process is timed as a whole.\n", took,
                                is_without_steps(*seen) ? ", and no step of a training was seen: its" : ". Its")
                 << pattern_advice(context, seen->log_tail,
                                   "A trial takes a part of that time where they are timed instead");
  }
  if (!seen->under_load.empty())
    *context.err << fmt::format("Meanwhile {}: it is faster on a quiet machine.\n", seen->under_load);
  look_for_its_end(spec, installation, place, control, *seen);
  if (!to_accuracy) seen->epoch_end = look_between_epochs(context, spec, *seen, wall, installation, control);
  if (interruption.requested()) throw Refusal{signals.interruption_code()};
  return *seen;
}

/// Steps of as many whole epochs as a run may have: of short ones several, where what stands between them, as the
/// first run had it, takes less than a third of a run.
std::int64_t steps_of_epochs(const tuner::CommandProbe& seen, std::int64_t of_one) {
  constexpr double kShare = 0.3;
  const std::int64_t ended = seen.steps / of_one;
  if (ended == 0) return of_one;
  const double between = static_cast<double>(seen.beside.count()) / static_cast<double>(ended);
  const double more = kShare * static_cast<double>(seen.wall.count()) / std::max(between, 1.0);
  return of_one * (1 + static_cast<std::int64_t>(std::min(more, 1000.0)));
}

/// Timed steps of a run: seconds distinguish configurations, and an epoch's last steps may be other ones.
std::optional<std::int64_t> steps_of_run(const tuner::CommandProbe& seen) {
  constexpr double kSeconds = 3;
  constexpr std::int64_t kFewest = 20, kMost = 400, kFewestRounds = 4;
  if (seen.timing == Timing::Process) return std::nullopt;
  const auto step = step_seconds_of(seen);
  if (!step) return seen.ended_by_itself ? std::optional(steps_there_are(seen)) : std::nullopt;
  const auto steps =
      in_rounds(seen, std::clamp(static_cast<std::int64_t>(kSeconds / *step), kFewest, kMost), kFewestRounds);
  if (seen.ended_by_itself || steps_together(seen) > 1 || !seen.training || !seen.training->steps_per_epoch)
    return steps;
  return std::min(steps, std::max<std::int64_t>(2, steps_of_epochs(seen, *seen.training->steps_per_epoch) - 2));
}

/// How the processes of a pair take turns; a short training has steps for shorter turns, or fewer.
void plan_turns(const tuner::CommandProbe& seen, tuner::OwnCommand& command) {
  constexpr std::int64_t kFewestTurns = 2;
  if (seen.timing == Timing::Process || !step_seconds_of(seen)) return;
  const std::int64_t all = steps_there_are(seen);
  const auto room = [&](std::int64_t turns) {
    return static_cast<std::int64_t>(static_cast<double>(all / turns - left_out_of_turn(seen)) / kOfFaster);
  };
  const std::int64_t usual = tuner::VerifySettings{}.slices;
  std::int64_t turns = usual;
  while (turns > kFewestTurns && room(turns) < std::max(kFewestOfTurn, seen.steps_of_line)) --turns;
  if (turns != usual) command.slices = turns;
  const std::int64_t wanted = wanted_of_turn(seen);
  command.slice_steps = in_rounds(seen, std::min(wanted, std::max<std::int64_t>(1, room(turns))), 1);
}

/// As of a trial that ran as the command did, whose one run this was.
tuner::Pace pace_of(const tuner::CampaignSpec& spec, const tuner::CommandProbe& seen) {
  const double wall = std::chrono::duration<double>(seen.wall).count();
  const bool whole = seen.timing == Timing::Process || (seen.timing == Timing::Pattern && !seen.step_seconds);
  const double step = whole ? wall : step_seconds_of(seen).value_or(0);
  space::Trial trial;
  trial.fidelity.steps = seen.steps;
  trial.parts = space::Parts{
      .import = std::max(0.0, wall - static_cast<double>(seen.steps + 1) * step),
      .steps_per_epoch = static_cast<double>(seen.training ? seen.training->steps_per_epoch.value_or(0) : 0),
      .steady_step = step};
  return tuner::pace_of(spec, trial, seen.wall);
}

TrialsAhead trials_ahead(const tuner::CommandProbe& seen, const tuner::CampaignSpec& spec,
                         std::optional<std::chrono::nanoseconds> wall) {
  using Seconds = std::chrono::duration<double>;
  tuner::Pace pace = pace_of(spec, seen);
  if (const auto& end = seen.epoch_end; end && end->of_runs) pace.around += end->seconds(*end->of_runs);
  const tuner::PaceState state{.finals = tuner::forecast_finals(spec.verify, pace, pace, wall),
                               .choice = tuner::forecast_choice(spec.verify, pace),
                               .verdict = tuner::forecast_verdict(spec.verify, pace, pace)};
  TrialsAhead ahead{.trial = pace.run_of(spec.run.steps), .verdict = Seconds(state.verdict).count()};
  if (!wall) return ahead;
  ahead.budget = Seconds(*wall).count();
  ahead.search =
      Seconds(tuner::search_time_left({.wall = std::chrono::ceil<std::chrono::seconds>(*wall)}, state).value_or(*wall))
          .count();
  ahead.has_room = tuner::has_room(*wall, state.verdict);
  ahead.enough = tuner::wall_for(state.verdict);
  return ahead;
}

bool varies_batch(const tuner::OwnCommand& command) {
  return std::ranges::any_of(command.variations, [](const auto& each) { return each.parameter() == "batch"; });
}

/// Whether the number of threads that the environment asks for is not what the command trains with.
bool sets_threads(const tuner::SeenTraining& seen, const tuner::OwnCommand& command) {
  const auto given = command.shell.find("OMP_NUM_THREADS");
  return seen.sets_threads || seen.omp_num_threads != (given == command.shell.end() ? std::string() : given->second);
}

void use_probe(const tuner::CommandProbe& seen, tuner::OwnCommand& command) {
  command.timing = seen.timing;
  command.steps = steps_of_run(seen);
  plan_turns(seen, command);
  if (seen.training) {
    if (seen.epoch_end && seen.epoch_end->of_runs) {
      command.epoch_ends = *seen.epoch_end->of_runs;
      if (command.steps && command.epoch_ends.every > 1)
        command.steps = std::max(*command.steps, std::min(command.epoch_ends.all_steps(), steps_there_are(seen)));
    }
    if (seen.training->unit == measure::kOptimizerStep || seen.training->unit == measure::kBackward)
      command.step = seen.training->unit;
    if (seen.training->round) command.steps_per_sample = seen.training->round->steps;
    command.levers = seen.training->levers;
    command.records_learning = seen.training->records_learning;
    command.sets_threads = seen.training->refused.contains("threads");
    command.replaces_threads = seen.training->replaces_threads && sets_threads(*seen.training, command);
    command.batch = seen.training->batch;
    command.steps_per_epoch =
        seen.training->steps_per_epoch ? seen.training->steps_per_epoch : seen.training->steps_in_all;
    command.epochs = tuner::epochs_trained(*seen.training).value_or(command.epochs);
    for (const std::string& source : seen.training->sources)
      command.sources.push_back((command.folder / source).lexically_normal().string());
    if (!command.examples && (command.batch || varies_batch(command)))
      command.examples = seen.training->examples_per_epoch;
  }
  const auto longer = command.epoch_ends.steps > 0 ? std::max(seen.wall, seen.epoch_end->wall) : seen.wall;
  const auto generous = std::chrono::ceil<std::chrono::seconds>(4 * longer) + std::chrono::seconds(60);
  command.deadline = std::max(std::chrono::seconds(120), generous);
}

/// As an earlier campaign of the database knew the same command.
void use_known(const nlohmann::json& document, tuner::OwnCommand& command) {
  if (command.timing != Timing::Pattern)
    command.timing = document.at("worker").at("time") == "steps" ? Timing::Steps : Timing::Process;
  command.levers = tuner::levers_of(document);
  if (measure::CommandTemplate own; measure::read_module(document.at("worker"), own)) {
    command.step = own.step;
    command.replaces_threads =
        document.at("worker").value("environment", nlohmann::json::object()).contains(measure::kThreadsVariable);
    if (is_private(command)) command.epoch_ends = own.epoch_ends;
  }
  for (const auto& source : document.value("/worker/sources"_json_pointer, nlohmann::json::array()))
    command.sources.push_back(source.get<std::string>());
  for (const auto& parameter : document.value("/space/parameters"_json_pointer, nlohmann::json::array())) {
    if (parameter.value("name", "") == "threads") command.sets_threads = parameter.at("range").at(0).is_string();
    if (parameter.value("name", "") != "batch" || !parameter.value("default", nlohmann::json()).is_number_integer())
      continue;
    command.batch = parameter["default"].get<std::int64_t>();
  }
  const auto epochs = document.value("/objective/epochs"_json_pointer, nlohmann::json());
  if (epochs.is_array() && epochs.size() == 1 && epochs[0].is_number()) command.epochs = epochs[0].get<double>();
  const auto examples = document.value("/workload/training_examples"_json_pointer, nlohmann::json());
  if (!command.examples && examples.is_number_integer() && command.timing == Timing::Steps)
    command.examples = examples.get<std::int64_t>();
}

/// The command as the options have it. Throws Refusal.
tuner::OwnCommand own_command(const CommandOptions& options, const Context& context) {
  const measure::LaunchMachine machine = measure::probe_launch_machine();
  tuner::OwnCommand command{.words = context.command,
                            .folder = fs::current_path(),
                            .name = options.name,
                            .allocators = measure::available_allocators(machine),
                            .examples = options.examples,
                            .allow_batch = std::ranges::find(options.allow, "batch") != options.allow.end(),
                            .files = options.in_place         ? measure::Files::InPlace
                                     : options.writes_outside ? measure::Files::PrivateFolder
                                                              : measure::Files::Private,
                            .pattern = options.pattern,
                            .affinities = measure::distinct_affinities(machine),
                            .memory_policies = measure::distinct_memory_policies(machine),
                            .has_slower_cores = measure::cores_by_kind(machine.allowed).size() > 1};
  command.frameworks = tuner::imported_frameworks(command.words, command.folder);
  for (const std::string& name : tuner::surrounding_variables()) {
    const char* value = std::getenv(name.c_str());
    if (value != nullptr && *value != '\0' && tuner::is_utf8(value)) command.shell[name] = value;
  }
  for (const std::string& path : options.share) command.shared.push_back(fs::absolute(path).lexically_normal());
  for (const std::string& text : options.vary) {
    auto variation = tuner::read_variation(text);
    if (!variation) refuse_to_tune(context, ExitCode::Usage, variation.error());
    command.variations.push_back(*std::move(variation));
  }
  return command;
}

/// What of the user's shell the default keeps.
void say_what_the_shell_sets(const Context& context, const tuner::OwnCommand& command) {
  if (command.shell.empty()) return;
  std::vector<std::string> set;
  for (const auto& [name, value] : command.shell) set.push_back(fmt::format("{}={}", name, value));
  *context.err << fmt::format(
      "Your shell sets {}: so does the default.{}\n", space::word_list(set),
      tuner::sets_allocator(command.shell) ? " allocator and huge_pages stay as they are." : "");
}

}  // namespace

bool is_command_timing(std::string_view time) {
  return time == "process" || time == "steps";
}

bool CommandOptions::any() const {
  return !name.empty() || !vary.empty() || examples || epochs || !time.empty() || !pattern.empty() ||
         !accuracy.empty() || target || !write_campaign.empty() || !allow.empty() || !share.empty() || in_place ||
         writes_outside;
}

void add_command(CLI::App& subcommand, CommandOptions& options) {
  const char* own = "Options of a command of your own (tune -- COMMAND)";
  add_value(subcommand, "--name", options.name, "NAME", "Name of its campaign (default: the script's)")->group(own);
  add_value(subcommand, "--vary", options.vary, "'--OPTION=A,B,…'",
            "An option of the command, or an environment variable, and its values; may be given again")
      ->allow_extra_args(false)
      ->group(own);
  add_value(subcommand, "--examples", options.examples, "N", "Examples in one epoch of its data", whole_number(1))
      ->group(own);
  auto* epochs =
      add_value(subcommand, "--epochs", options.epochs, "N",
                "Epochs that it trains, whose time is tuned (default: as its loops say, else 1)", positive_number())
          ->group(own);
  auto* time = add_value(subcommand, "--time", options.time, "process|steps",
                         "process: the whole process; steps: seen from outside, or told by nocturne_steps.step(). Of a "
                         "job (--nodes): its wall limit, HH:MM:SS or 8h (default: the budget's time and 15 minutes)",
                         [](const std::string& text) {
                           if (is_command_timing(text) || tuner::parse_job_time(text)) return std::string();
                           return fmt::format("'{}' is none of process, steps, a time as 08:00:00 or 8h", text);
                         });
  time->group(own);
  add_value(subcommand, "--pattern", options.pattern, "REGEX",
            "Find its steps in what it prints (worker.time.pattern of 'schema campaign')")
      ->excludes(time)
      ->group(own);
  auto* target =
      add_value(subcommand, "--target", options.target, "X",
                "With --accuracy: how accurate is accurate enough, above 0 and below 1", number_within(0.0001, 0.9999))
          ->group(own);
  auto* accuracy = add_value(subcommand, "--accuracy", options.accuracy, "REGEX|seen",
                             "Tune the time until it is as accurate as --target says: a pattern finds that in what it "
                             "prints, or seen: Keras or a Trainer evaluates it (worker.accuracy of 'schema campaign')")
                       ->needs(target)
                       ->excludes(epochs)
                       ->group(own);
  target->needs(accuracy);
  add_value(subcommand, "--allow", options.allow, "batch",
            "batch: try larger batches too, which changes what is learnt")
      ->check(CLI::IsMember({"batch"}).description(""))
      ->allow_extra_args(false)
      ->group(own);
  subcommand.add_flag("--in-place", options.in_place, "Let each run write into the command's folder, as you would")
      ->group(own);
  add_value(subcommand, "--share", options.share, "FOLDER",
            "A folder that the command changes for real all the same; may be given again")
      ->allow_extra_args(false)
      ->group(own);
  subcommand
      .add_flag("--writes-outside", options.writes_outside, "Let each run write beside the command's folder for real")
      ->group(own);
  add_value(subcommand, "--write-campaign", options.write_campaign, "FILE",
            "Write the campaign file instead of measuring; - prints it")
      ->group(own);
}

void refuse_to_tune(const Context& context, ExitCode code, std::string_view sentence) {
  *context.err << "nocturne tune: " << sentence << '\n';
  throw Refusal{code};
}

tuner::CampaignSpec command_campaign(const CommandOptions& options, bool budgeted,
                                     std::optional<std::chrono::nanoseconds> wall, const Context& context,
                                     const tuner::Installation& installation, const space::Facts& facts) {
  tuner::OwnCommand command = own_command(options, context);
  say_what_the_shell_sets(context, command);
  // `known`: whose steps and turns are used again.
  const auto made = [&](const nlohmann::json& known = nlohmann::json::object()) {
    if (options.epochs && command.timing != Timing::Process) command.epochs = *options.epochs;
    auto document = tuner::command_document(command);
    if (!document) refuse_to_tune(context, ExitCode::Usage, document.error());
    if (!budgeted) (*document)["budget"]["trials"] = kUsualTrials;
    for (const char* section : {"run", "verify"}) {
      const auto stored = known.find(section);
      if (stored != known.end() && stored->is_object()) (*document)[section] = *stored;
    }
    return parsed(context, *document, command.folder, facts);
  };
  const auto made_at_last = [&](const nlohmann::json& known = nlohmann::json::object()) {
    if (options.epochs && command.timing == Timing::Process) {
      refuse_to_tune(context, ExitCode::Usage,
                     "--epochs: the command's process is timed as a whole, and trains as long as it trains");
    }
    return made(known);
  };
  // Before the command has run once nothing is known of its epochs, by which an accuracy is counted.
  const auto aim = [&] {
    command.accuracy = options.accuracy;
    command.target = options.target.value_or(0);
  };
  if (!options.time.empty()) {
    aim();
    command.timing = options.time == "steps" ? Timing::Steps : Timing::Process;
    return made_at_last();
  }
  if (!options.pattern.empty()) command.timing = Timing::Pattern;
  const auto first = made();
  aim();
  const auto [known, other] = earlier_campaigns(context, first.document);
  if (other) *context.err << name_is_taken(*other);
  if (known) {
    if (is_still_the_same(*known, command.folder, facts)) {
      use_known(known->spec, command);
      return made_at_last(known->spec);
    }
    *context.err << fmt::format("What '{}' is made of was edited since it was tuned: it is looked at anew.\n",
                                known->name);
  }
  auto seen = sight(context, first, !options.accuracy.empty(), wall, installation);
  if (seen.training && !seen.training->batch && !varies_batch(command) && command.examples)
    seen.training->steps_per_epoch = command.examples;  // each step is an example
  use_probe(seen, command);
  *context.err << seen_training_text(seen, options.epochs, options.writes_outside);
  auto campaign = made_at_last();
  *context.err << trials_text(trials_ahead(seen, campaign, wall));
  return campaign;
}

ExitCode write_campaign(const CommandOptions& options, const Context& context, const tuner::CampaignSpec& spec) {
  nlohmann::json document = spec.document;
  document.erase(tuner::kStoredMachine);
  const std::string text = document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  if (options.write_campaign == "-") {
    context.verbatim() << text;
    return ExitCode::Ok;
  }
  if (const auto written = space::write_file(fs::absolute(options.write_campaign), text); !written)
    refuse_to_tune(context, ExitCode::Unavailable, written.error());
  *context.err << fmt::format("Wrote {}: {}\n", options.write_campaign,
                              tuner::command_text({"tune", options.write_campaign}));
  return ExitCode::Ok;
}

}  // namespace nocturne::cli
