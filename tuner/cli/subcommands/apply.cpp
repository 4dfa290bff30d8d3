// `nocturne apply PROFILE [-- COMMAND…]`: runs a command the way the profile was measured.

#include "tuner/cli/subcommand.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "measure/machine/fingerprint.hpp"
#include "measure/machine/machine.hpp"
#include "space/write_file.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/choice/number_checks.hpp"
#include "tuner/cli/choice/profile_choice.hpp"
#include "tuner/cli/measuring/measurement_context.hpp"
#include "tuner/cli/measuring/signals.hpp"
#include "tuner/cli/output/format.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/cli/subcommands/bundles.hpp"
#include "tuner/deploy/apply.hpp"
#include "tuner/deploy/make_missing.hpp"
#include "tuner/deploy/own_command.hpp"
#include "tuner/deploy/shell_quote.hpp"
#include "tuner/deploy/training_request.hpp"
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
  bool no_make = false;  ///< refuse where an environment or a build is missing
  // The profile's own training
  std::optional<std::int64_t> epochs, steps;
  std::optional<std::uint64_t> seed;
  std::string data_set;  ///< another folder than the profile's
  std::string output;    ///< folder for request and events; empty: a new one in the working folder
};

namespace fs = std::filesystem;

deploy::ApplyMachine this_machine() {
  const measure::MachineRoots roots{.onednn_prefix = tuner::find_installation().onednn_prefix};
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

ExitCode execute(const Context& context, const deploy::ApplyPlan& plan) {
  // exec() replaces this process with all that its buffers still hold.
  context.out->flush();
  context.err->flush();
  const deploy::ExecuteFailure failure = deploy::execute(plan);
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
  deploy::ApplyPlan plan = deploy::plan_command(profile, *words, folder, machine, options.force);
  if (given)
    for (const std::string& missing : deploy::missing_options(profile, *words))
      plan.warnings.push_back("it was measured with " + missing + ", which this command does not have");
  if (const auto said = say_plan(options, plan, context)) return *said;
  return execute(context, plan);
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
  subcommand.footer(
      "Sets the environment variables, the allocator and the CPUs that were measured, then becomes the command: its\n"
      "exit status is that of apply. If this machine differs in what must match, it refuses with status 125. If the\n"
      "profile's own training needs an environment or a build that is missing, apply makes it first.\n"
      "\n"
      "The profile of a command of your own runs that command in its folder, with the best options. With another\n"
      "command behind '--' a warning names the options that it lacks.\n"
      "\n"
      "Examples:\n"
      "  nocturne apply mnist-evening\n"
      "  nocturne apply mnist-evening-0123456789ab.nocturne\n"
      "  nocturne apply mnist-evening.json -- python3 train.py --epochs 3\n"
      "  nocturne apply mnist-evening --dry-run -- ./train\n");
}

/// Returns only where the command did not start: Refused, NotExecutable, NoCommand; Ok for --dry-run. Else the process
/// has become the command, whose exit status is that of `apply`.
ExitCode run(const ApplyOptions& options, Context& context) {
  const auto file = file_of(options, context);
  if (!file) return file.error();
  auto profile = deploy::load_profile(*file);
  if (!profile) return complain(context, ExitCode::Refused, profile.error());
  const deploy::ApplyMachine machine = this_machine();
  if (deploy::has_own_command(*profile)) return run_own_command(options, *profile, machine, context);
  const bool own_training = options.command.empty();
  if (own_training) {
    if (const auto ended = make_first(options, *profile, machine, context)) return *ended;
  }
  const protocol::Request request = requested_training(options, *profile);
  const deploy::ApplyPlan plan = own_training
                                     ? deploy::plan_training(*profile, training_folder(options, *profile),
                                                             request.data_folder, machine, options.force)
                                     : deploy::plan_command(*profile, options.command, {}, machine, options.force);
  if (const auto said = say_plan(options, plan, context)) return *said;
  if (own_training) {
    if (const auto prepared = prepare_training(plan, request, context); !prepared)
      return complain(context, ExitCode::Refused, prepared.error());
  }
  return execute(context, plan);
}

}  // namespace

SubcommandAction add_apply(CLI::App& subcommand) {
  return add_options<ApplyOptions>(subcommand);
}

}  // namespace nocturne::cli
