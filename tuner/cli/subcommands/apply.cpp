// `nocturne apply PROFILE [-- COMMAND…]`: runs a command the way the profile was measured.

#include "tuner/cli/subcommand.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <expected>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "measure/machine/fingerprint.hpp"
#include "measure/machine/machine.hpp"
#include "measure/protocol/event_writer.hpp"
#include "measure/supervisor/run_folder.hpp"
#include "space/write_file.hpp"
#include "tuner/campaign/unix_time.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/choice/number_checks.hpp"
#include "tuner/cli/choice/profile_choice.hpp"
#include "tuner/cli/measuring/measurement_context.hpp"
#include "tuner/cli/measuring/signals.hpp"
#include "tuner/cli/output/format.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/cli/subcommands/bundles.hpp"
#include "tuner/deploy/apply.hpp"
#include "tuner/deploy/deployment_log.hpp"
#include "tuner/deploy/make_missing.hpp"
#include "tuner/deploy/own_command.hpp"
#include "tuner/deploy/script_state.hpp"
#include "tuner/deploy/shell_quote.hpp"
#include "tuner/deploy/training_request.hpp"
#include "tuner/deploy/watch.hpp"
#include "tuner/executor/interruption.hpp"
#include "tuner/installation/installation.hpp"
#include "tuner/installation/invocation.hpp"

namespace nocturne::cli {
namespace {

struct ApplyOptions {
  /// A file, the name of a campaign whose profile is in the profiles folder, or a bundle (.nocturne), installed first.
  std::string profile;
  std::vector<std::string> command;  ///< empty: the profile's own training
  bool force = false;
  bool dry_run = false;
  bool no_make = false;    ///< refuse where an environment or a build is missing
  bool watch = false;      ///< compare the first steps with the profile's estimate
  bool fall_back = false;  ///< watch, and start the default instead where it is slower than that
  [[nodiscard]] bool watches() const { return watch || fall_back; }
  // The profile's own training
  std::optional<std::int64_t> epochs, steps;
  std::optional<std::uint64_t> seed;
  std::string data_set;  ///< another folder than the profile's
  std::string output;    ///< folder for request and events; empty: a new one in the working folder
};

namespace fs = std::filesystem;

deploy::ApplyMachine this_machine() {
  const measure::MachineRoots roots = tuner::find_installation().machine_roots();
  const measure::MachineFacts facts = measure::probe_machine(roots);
  return {.fingerprint = measure::fingerprint_of(facts), .allowed_cpus = facts.allowed_cpus};
}

fs::path training_folder(const ApplyOptions& options, const deploy::Profile& profile) {
  if (!options.output.empty()) return fs::absolute(options.output).lexically_normal();
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fs::current_path() /
         fmt::format("{}-{:%Y%m%dT%H%M%S}-{}", deploy::file_stem(profile.campaign), fmt::localtime(now), ::getpid());
}

/// What a plan says for machines: printed by --dry-run --json, where nothing else is run.
nlohmann::json plan_json(const deploy::ApplyPlan& plan, bool would_run) {
  nlohmann::json differences = nlohmann::json::array();
  for (const space::FingerprintDifference& each : plan.differences) {
    differences.push_back(
        {{"field", each.name}, {"profile", each.before}, {"here", each.now}, {"match", space::to_text(each.match)}});
  }
  return {{"would_run", would_run},    {"command", plan.argv},      {"environment", plan.set},
          {"unset", plan.unset},       {"cpus", plan.cpus},         {"objections", plan.objections},
          {"warnings", plan.warnings}, {"differences", differences}};
}

/// Writes the request into its folder. The error is a sentence.
std::expected<void, std::string> prepare_training(const deploy::ApplyPlan& plan, const protocol::Request& request,
                                                  const Context& context) {
  std::error_code ignored;
  fs::remove(plan.working_folder / "events.jsonl", ignored);  // of an earlier training in the same folder
  auto written = space::write_file(plan.working_folder / "request.json", protocol::to_json(request).dump(2) + "\n");
  if (written) *context.err << "results: " << (plan.working_folder / "events.jsonl").string() << '\n';
  return written;
}

void print_sentences(std::ostream& err, std::string_view kind, const std::vector<std::string>& sentences) {
  for (const std::string& sentence : sentences) err << "nocturne: " << kind << ": " << one_line(sentence) << '\n';
}

protocol::Request requested_training(const ApplyOptions& options, const deploy::Profile& profile) {
  protocol::Request request = deploy::training_request(profile);
  request.epochs = options.epochs.value_or(request.epochs);
  request.seed = options.seed.value_or(request.seed);
  // So many steps are less than an epoch, whose accuracy would say nothing.
  if (options.steps) {
    request.steps = *options.steps;
    request.epochs = 0;
    request.accuracy = false;
  }
  if (!options.data_set.empty()) request.data_folder = fs::absolute(options.data_set).lexically_normal().string();
  return request;
}

ExitCode say_failure(const Context& context, const deploy::ExecuteFailure& failure) {
  switch (failure.step) {
    case deploy::ExecuteStep::Prepare:
      break;
    case deploy::ExecuteStep::NotFound:
      return complain(context, ExitCode::NoCommand, failure.message);
    case deploy::ExecuteStep::NotExecutable:
      return complain(context, ExitCode::NotExecutable, failure.message);
  }
  return complain(context, ExitCode::Refused, failure.message);
}

ExitCode execute(const Context& context, const deploy::ApplyPlan& plan) {
  // exec() replaces this process with all that its buffers still hold.
  context.out->flush();
  context.err->flush();
  return say_failure(context, deploy::execute(plan));
}

/// Why the profile cannot be watched, or nothing be fallen back to; empty: it can.
std::string missing_for_watch(const ApplyOptions& options, const deploy::Profile& profile) {
  const bool given = !options.command.empty();
  if (given && !deploy::has_own_command(profile))
    return "--watch is for the profile's own training: of another command the steps are not seen";
  if (!profile.step) {
    return fmt::format(
        "the profile does not say what a step takes, so there is nothing to compare with: '{}' says it, "
        "where steps were seen",
        tuner::command_text({"export"}));
  }
  if (!options.fall_back) return {};
  if (given) return "--fall-back does not know the default of another command: leave it out, or the command";
  return deploy::can_fall_back(profile)
             ? std::string()
             : "the profile does not say how its default is started, or is the default itself";
}

deploy::CanaryLimits limits_of(const deploy::Profile& profile) {
  deploy::CanaryLimits limits{.measured = *profile.step, .of_default = {}};
  if (deploy::can_fall_back(profile)) limits.of_default = profile.of_default.front().step;
  return limits;
}

/// Says what was seen, and keeps it.
void tell_seen(const Context& context, const deploy::Profile& profile, const deploy::Canary& canary, bool falls_back) {
  const deploy::CanaryLimits limits = limits_of(profile);
  const std::string said = deploy::sentence_of(canary, limits);
  if (canary.finding != deploy::CanaryFinding::AsMeasured)
    print_sentences(*context.err, "warning", {said + (falls_back ? "; the default is started instead" : "")});
  const auto kept = deploy::append_deployment(
      context.deployments_folder(), {.time = utc_text(tuner::now_unix_ns()),
                                     .host = deploy::host_here(),
                                     .profile = profile.campaign,
                                     .trial = profile.trial,
                                     .finding = falls_back ? "fell back" : std::string(deploy::to_text(canary.finding)),
                                     .step_s = canary.seconds,
                                     .expected_s = limits.measured.seconds,
                                     .limit_s = limits.measured.limit(),
                                     .because = said});
  if (!kept) print_sentences(*context.err, "warning", {"what was seen cannot be kept: " + kept.error()});
  context.err->flush();
}

/// The plan as a child that is watched. `start_default`: becomes the default.
ExitCode run_watched(const ApplyOptions& options, const deploy::Profile& profile, const deploy::WatchedJob& job,
                     const Context& context, const std::function<ExitCode()>& start_default) {
  context.out->flush();
  context.err->flush();
  const deploy::WatchSettings settings{.fall_back = options.fall_back, .window = deploy::window_for(profile)};
  const deploy::WatchEnd end = deploy::watch(job, settings, [&](const deploy::Canary& canary, bool falls_back) {
    tell_seen(context, profile, canary, falls_back);
  });
  if (end.failure) return say_failure(context, *end.failure);
  return end.fell_back ? start_default() : static_cast<ExitCode>(deploy::end_as(end.status));
}

/// A new folder for the steps of a script, with the file to which its module appends. The error is a sentence.
std::expected<fs::path, std::string> make_watched_folder() {
  std::string name = (fs::temp_directory_path() / "nocturne-watch-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr)
    return std::unexpected(fmt::format("no folder {} can be made: {}", name, std::strerror(errno)));
  protocol::EventWriter(name + "/" + measure::kEventsFile).hello("script");
  return fs::path(name);
}

/// Objections and warnings; with --dry-run the plan. Empty: it is to be executed.
std::optional<ExitCode> say_plan(const ApplyOptions& options, const deploy::ApplyPlan& plan, const Context& context) {
  const bool would_run = plan.objections.empty() || options.force;
  if (context.json && options.dry_run) {
    print_json(context, "apply-dry-run", plan_json(plan, would_run));
    return would_run ? ExitCode::Ok : ExitCode::Refused;
  }
  print_sentences(*context.err, "warning", plan.warnings);
  print_sentences(*context.err, would_run ? "forced" : "refused", plan.objections);
  if (!would_run) {
    return complain(context, ExitCode::Refused,
                    fmt::format("what was measured need not hold here; measure here with '{}', or run it with --force",
                                tuner::command_text({"tune", "FILE"})));
  }
  if (!options.dry_run) return std::nullopt;
  context.verbatim() << deploy::shell_line(plan) << '\n';
  return ExitCode::Ok;
}

/// Removes a folder at the end; an empty name: nothing.
struct RemovedFolder {
  fs::path folder;
  explicit RemovedFolder(fs::path path) : folder(std::move(path)) {}
  RemovedFolder(const RemovedFolder&) = delete;
  RemovedFolder& operator=(const RemovedFolder&) = delete;
  ~RemovedFolder() {
    std::error_code ignored;
    if (!folder.empty()) fs::remove_all(folder, ignored);
  }
};

/// The user's command that was tuned, with the options of the best; or another in its place, here.
ExitCode run_own_command(const ApplyOptions& options, const deploy::Profile& profile,
                         const deploy::ApplyMachine& machine, const Context& context) {
  if (options.epochs || options.steps || options.seed || !options.data_set.empty() || !options.output.empty()) {
    return complain(context, ExitCode::Refused,
                    "this profile is of a command of your own: --epochs, --steps, --seed, --data-set and --output "
                    "are not its options; give the whole command behind '--'");
  }
  const bool given = !options.command.empty();
  const auto words = given ? options.command : deploy::own_words(profile);
  if (!words) return complain(context, ExitCode::Refused, words.error());
  // Another command runs where the user stands; the one that was tuned where it was tuned.
  const std::string folder = given ? "" : profile.training.own_command.value("folder", "");
  fs::path watched;
  if (options.watches() && !options.dry_run) {
    auto made = make_watched_folder();
    if (!made) return complain(context, ExitCode::Refused, made.error());
    watched = *std::move(made);
  }
  const RemovedFolder removed{watched};
  deploy::ApplyPlan plan = deploy::plan_command(profile, *words, folder, machine, options.force, watched);
  for (const std::string& change : deploy::changes_since(profile)) {
    plan.warnings.push_back(fmt::format("{}; '{}' measures it again", change,
                                        tuner::command_text("verify", tuner::file_word(options.profile))));
  }
  if (given)
    for (const std::string& missing : deploy::missing_options(profile, *words))
      plan.warnings.push_back("it was measured with " + missing + ", which this command does not have");
  if (const auto said = say_plan(options, plan, context)) return *said;
  if (watched.empty()) return execute(context, plan);
  const deploy::WatchedJob job{.plan = plan, .limits = limits_of(profile), .folder = watched, .private_folder = true};
  return run_watched(options, profile, job, context, [&] {
    const deploy::Profile& of_default = profile.of_default.front();
    const auto default_words = deploy::own_words(of_default);
    if (!default_words) return complain(context, ExitCode::Refused, default_words.error());
    return execute(context, deploy::plan_command(of_default, *default_words, folder, machine, true));
  });
}

/// Lines of what is made first, on the error stream: the output is the command's.
std::function<void(std::string_view)> says_on_err(const Context& context) {
  return [&context](std::string_view line) {
    *context.err << "making " << one_line(std::string(line)) << '\n' << std::flush;
  };
}

/// Makes what the training needs and this machine lacks. Empty: go on.
std::optional<ExitCode> make_first(const ApplyOptions& options, deploy::Profile& profile,
                                   const deploy::ApplyMachine& machine, const Context& context) {
  const tuner::Installation installation = tuner::find_installation();
  const auto frameworks = frameworks_here(context, installation);
  const deploy::MakingPlaces places{.frameworks = *frameworks,
                                    .installation = installation,
                                    .builds_folder = context.builds_folder(),
                                    .progress = says_on_err(context)};
  const std::string missing = deploy::missing_part(profile, places);
  if (missing.empty()) return std::nullopt;
  // Not for a machine that will be refused all the same.
  const bool refused = !deploy::plan_apply(profile, {"true"}, machine, options.force).objections.empty();
  if (refused && !options.force) return std::nullopt;
  if (options.no_make) {
    return complain(context, ExitCode::Refused,
                    fmt::format("{} is missing here, and --no-make forbids to make it: leave it out", missing));
  }
  if (options.dry_run) {
    // Which program that is, only making it says.
    if (context.json)
      print_json(context, "apply-dry-run", {{"would_run", true}, {"would_make", missing}});
    else
      *context.out << fmt::format("would first make {}, and then train with it\n", missing);
    return ExitCode::Ok;
  }
  if (const auto made = context.make_folders(); !made) return complain(context, ExitCode::Refused, made.error());
  tuner::Interruption interruption;
  const SignalWatch signals(interruption, {});
  const auto made = deploy::make_missing(profile, places, interruption.waiting_token());
  if (!made) return say_making_failure(context, made.error(), signals, ExitCode::Refused);
  print_sentences(*context.err, "warning", *made);
  return std::nullopt;
}

/// The profile's file; of a bundle after all that is in it was installed.
std::expected<fs::path, ExitCode> file_of(const ApplyOptions& options, const Context& context) {
  fs::path file = profile_file(options.profile, context);
  if (file.extension() != deploy::kBundleExtension) return file;
  // Installing is the very thing that both forbid, and what is in a bundle is not known before.
  if (options.no_make || options.dry_run) {
    return std::unexpected(complain(
        context, ExitCode::Refused,
        fmt::format("a bundle is installed before it is applied, which --no-make and --dry-run forbid: '{}' first",
                    tuner::command_text("env", "install --bundle " + tuner::file_word(file)))));
  }
  if (const auto made = context.make_folders(); !made)
    return std::unexpected(complain(context, ExitCode::Refused, made.error()));
  const auto frameworks = frameworks_here(context, tuner::find_installation());
  tuner::Interruption interruption;
  const SignalWatch signals(interruption, {});
  const auto opened = deploy::open_bundle(fs::absolute(file), bundle_places(context, *frameworks, says_on_err(context)),
                                          interruption.waiting_token());
  if (!opened) return std::unexpected(say_making_failure(context, opened.error(), signals, ExitCode::Refused));
  print_sentences(*context.err, "warning", opened->warnings);
  if (!opened->profile.empty()) return opened->profile;
  return std::unexpected(
      complain(context, ExitCode::Refused, "the bundle holds no profile: its environments are installed"));
}

void add_training_options(CLI::App& subcommand, ApplyOptions& options) {
  const char* own = "Options of the profile's own training";
  auto* epochs = subcommand.add_option("--epochs", options.epochs, "Whole epochs (default: the profile's)");
  epochs->type_name("N")->check(whole_number(1))->group(own);
  subcommand.add_option("--steps", options.steps, "This many steps instead, after the first")
      ->type_name("N")
      ->check(whole_number(1))
      ->excludes(epochs)
      ->group(own);
  subcommand.add_option("--seed", options.seed, "Seed of initial weights and order of data (default: the profile's)")
      ->type_name("N")
      ->group(own);
  subcommand.add_option("--data-set", options.data_set, "Folder of the data set (default: the profile's)")
      ->type_name("DIR")
      ->group(own);
  subcommand.add_option("--output", options.output, "Folder for request and events (default: a new one here)")
      ->type_name("DIR")
      ->group(own);
}

void setup(CLI::App& subcommand, ApplyOptions& options) {
  subcommand
      .add_option("profile", options.profile,
                  "A profile's JSON file, the name of a campaign that was exported, or a bundle of 'env export'")
      ->type_name("PROFILE")
      ->required();
  subcommand.add_option("command", options.command, "After '--': what to run (default: the profile's own training)")
      ->type_name("COMMAND...");
  subcommand.add_flag("--force", options.force, "Run although this machine is not the one that was measured");
  subcommand.add_flag("--no-make", options.no_make,
                      "Refuse where an environment or a build is missing; else it is made first");
  subcommand.add_flag("--dry-run", options.dry_run, "Print what would run, and run nothing");
  subcommand.add_flag("--watch", options.watch,
                      "Compare the first steps with the profile's: slower than a new process may be is a warning");
  subcommand.add_flag(
      "--fall-back", options.fall_back,
      "Watch, and start the default instead where it is slower than that, too, and nothing explains it");
  add_training_options(subcommand, options);
  subcommand.footer(
      "Sets the environment variables, the allocator and the CPUs that were measured, then becomes the command: its\n"
      "exit status is that of apply. If this machine differs in what must match, it refuses with status 125. If the\n"
      "profile's own training needs an environment or a build that is missing, apply makes it first.\n"
      "\n"
      "The profile of a command of your own runs that command in its folder, with the best options. With another\n"
      "command behind '--' a warning names the options that it lacks.\n"
      "\n"
      "--watch stays beside the command and looks at its steps in windows of two to ten seconds. What it takes for\n"
      "slow is beyond the 99.9 % interval of one new process, in the second window, too; the warning has both numbers\n"
      "and what explains it: other processes, the hypervisor, a processor that is too hot, data read for the first\n"
      "time, another machine. --fall-back ends the command only where nothing does that would slow the default as\n"
      "well. What was seen is kept: 'nocturne list deployments'.\n"
      "\n"
      "Examples:\n"
      "  nocturne apply mnist-evening\n"
      "  nocturne apply mnist-evening --fall-back\n"
      "  nocturne apply mnist-evening-0123456789ab.nocturne\n"
      "  nocturne apply mnist-evening.json -- python3 train.py --epochs 3\n"
      "  nocturne apply mnist-evening --dry-run -- ./train\n");
}

/// A training of the profile in `folder`, prepared; what ends it before.
std::expected<deploy::ApplyPlan, ExitCode> prepared_training(const ApplyOptions& options,
                                                             const deploy::Profile& profile, const fs::path& folder,
                                                             const deploy::ApplyMachine& machine,
                                                             const Context& context) {
  const protocol::Request request = requested_training(options, profile);
  deploy::ApplyPlan plan = deploy::plan_training(profile, folder, request.data_folder, machine, options.force);
  if (const auto said = say_plan(options, plan, context)) return std::unexpected(*said);
  if (const auto prepared = prepare_training(plan, request, context); !prepared)
    return std::unexpected(complain(context, ExitCode::Refused, prepared.error()));
  return plan;
}

ExitCode run_own_training(const ApplyOptions& options, deploy::Profile& profile, const deploy::ApplyMachine& machine,
                          const Context& context) {
  if (const auto ended = make_first(options, profile, machine, context)) return *ended;
  if (options.fall_back) {
    if (const auto ended = make_first(options, profile.of_default.front(), machine, context)) return *ended;
  }
  const fs::path folder = training_folder(options, profile);
  const auto plan = prepared_training(options, profile, folder, machine, context);
  if (!plan) return plan.error();
  if (!options.watches()) return execute(context, *plan);
  const deploy::WatchedJob job{.plan = *plan, .limits = limits_of(profile), .folder = folder};
  return run_watched(options, profile, job, context, [&] {
    std::error_code ignored;
    fs::rename(folder / measure::kEventsFile, folder / "events.slow.jsonl", ignored);
    const auto of_default = prepared_training(options, profile.of_default.front(), folder, machine, context);
    return of_default ? execute(context, *of_default) : of_default.error();
  });
}

/// A command of the user's choice, as the profile was measured.
ExitCode run_given_command(const ApplyOptions& options, const deploy::Profile& profile,
                           const deploy::ApplyMachine& machine, const Context& context) {
  const auto plan = deploy::plan_command(profile, options.command, {}, machine, options.force);
  if (const auto said = say_plan(options, plan, context)) return *said;
  return execute(context, plan);
}

/// Returns only where the command did not start: Refused, NotExecutable, NoCommand; Ok for --dry-run. Else the process
/// has become the command, whose exit status is that of `apply`.
ExitCode run(const ApplyOptions& options, Context& context) {
  const auto file = file_of(options, context);
  if (!file) return file.error();
  auto profile = deploy::load_profile(*file);
  if (!profile)
    return complain(context, ExitCode::Refused, unreadable_profile(options.profile, profile.error(), context));
  if (const std::string missing = missing_for_watch(options, *profile); options.watches() && !missing.empty())
    return complain(context, ExitCode::Refused, missing);
  const deploy::ApplyMachine machine = this_machine();
  if (deploy::has_own_command(*profile)) return run_own_command(options, *profile, machine, context);
  return options.command.empty() ? run_own_training(options, *profile, machine, context)
                                 : run_given_command(options, *profile, machine, context);
}

}  // namespace

SubcommandAction add_apply(CLI::App& subcommand) {
  return add_options<ApplyOptions>(subcommand);
}

}  // namespace nocturne::cli
