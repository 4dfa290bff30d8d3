// `nocturne tune FILE`, `nocturne tune -- COMMAND`: starts a campaign, or goes on with it.

#include "tuner/cli/subcommand.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <expected>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "db/store.hpp"
#include "measure/machine/fingerprint.hpp"
#include "measure/machine/machine.hpp"
#include "search/registry.hpp"
#include "tuner/campaign/campaign.hpp"
#include "tuner/campaign/heartbeat/heartbeat_writer.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/choice/configuration_words.hpp"
#include "tuner/cli/choice/value_option.hpp"
#include "tuner/cli/measuring/live_report.hpp"
#include "tuner/cli/measuring/machine_measuring.hpp"
#include "tuner/cli/measuring/measurement_context.hpp"
#include "tuner/cli/measuring/noise_settling.hpp"
#include "tuner/cli/measuring/on_finish.hpp"
#include "tuner/cli/measuring/preflight.hpp"
#include "tuner/cli/subcommands/tune_cluster.hpp"
#include "tuner/cli/subcommands/tune_command.hpp"
#include "tuner/cli/subcommands/tune_dry_run.hpp"
#include "tuner/cli/subcommands/tune_report.hpp"
#include "tuner/deploy/shell_quote.hpp"
#include "tuner/executor/own_command.hpp"
#include "tuner/executor/slurm/job.hpp"
#include "tuner/executor/stray_runs.hpp"
#include "tuner/installation/frameworks.hpp"
#include "tuner/installation/installation.hpp"
#include "tuner/installation/invocation.hpp"

namespace nocturne::cli {
namespace {

struct TuneOptions {
  std::string file;  ///< or a command behind `--`
  CommandOptions command;
  bool fresh = false;
  std::optional<std::int64_t> trials;  ///< these six replace what the file says
  std::string wall;
  std::string until;
  std::string strategy;
  std::optional<std::uint64_t> seed;
  bool no_history = false;
  std::vector<std::string> measure;  ///< configurations that the user wants measured: name=value,…
  OnFinish on_finish;
  PreflightOptions preflight;
  bool no_noise = false;
  MachineMeasuringOptions machine;
  std::vector<std::string> set;  ///< POINTER=VALUE, laid over the file
  bool dry_run = false;
  std::string grace = "20s";  ///< after SIGTERM, for the run in flight
  ClusterOptions cluster;
};

/// How a session came out, and what it leaves to do where it was one of a job.
struct JobFinish : Finish {
  bool submitted = false;                        ///< nothing was measured: a job will do that
  std::optional<tuner::Allocation> queue_again;  ///< the job's time was over first
};

std::vector<tuner::Setting> settings_of(const TuneOptions& options, const Context& context) {
  std::vector<tuner::Setting> settings;
  for (const std::string& words : options.set) {
    auto setting = tuner::read_setting(words);
    if (!setting) refuse_to_tune(context, ExitCode::Usage, "--set: " + setting.error());
    settings.push_back(*std::move(setting));
  }
  for (tuner::Setting& setting : slurm_settings(options.cluster.slurm)) settings.push_back(std::move(setting));
  return settings;
}

/// The campaign of a file, or of the words behind `--`. Throws Refusal.
tuner::CampaignSpec read_campaign(const TuneOptions& options, const Context& context,
                                  const tuner::Installation& installation, const space::Facts& facts,
                                  const tuner::Frameworks* frameworks) {
  const auto refuse_words = [&](const std::string& sentence) {
    refuse_to_tune(context, ExitCode::Usage,
                   fmt::format("{}\nTry '{}'.", sentence, tuner::command_text({"tune", "--help"})));
  };
  if (!options.file.empty() && context.command_given) refuse_words("a campaign file or a command, not both");
  if (!options.file.empty() || !context.command_given) {
    if (options.file.empty()) refuse_words("file is required, or a command behind '--': tune -- python train.py");
    if (const auto interpreter = tuner::interpreter_of(options.file); !interpreter.empty())
      refuse_words(
          fmt::format("{} is called as a script is, and a campaign file is JSON; a command of your own stands "
                      "behind '--': '{}'",
                      options.file, tuner::command_text({"tune", "--", interpreter, options.file})));
    if (options.command.any())
      refuse_words(
          "--name, --vary, --examples, --time, --pattern, --allow, --in-place, --share, --writes-outside and "
          "--write-campaign belong to a command behind '--'");
    return value_or_refuse(context,
                           tuner::load_campaign(options.file, facts, frameworks, settings_of(options, context)));
  }
  if (!options.set.empty()) refuse_words("--set goes with a campaign file");
  if (context.command.empty() || context.command.front().empty()) refuse_words("there is no command behind '--'");
  if (options.cluster.any())
    refuse_words(
        "a cluster takes a campaign file: --write-campaign writes one of this command, to be tuned with --nodes");
  const bool budgeted = options.trials || !options.wall.empty() || !options.until.empty();
  const auto wall = tuner::parse_duration(options.wall);
  return command_campaign(options.command, budgeted, wall ? std::optional(*wall) : std::nullopt, context, installation,
                          facts);
}

/// The command that goes on with the same campaign: as it was called, without --fresh.
std::string same_again(const Context& context) {
  std::vector<std::string> words = {context.program};
  words.insert(words.end(), context.arguments.begin(), context.arguments.end());
  const auto own_end = std::ranges::find(words, "--");
  words.erase(std::remove(words.begin(), own_end, "--fresh"), own_end);  // goes on, and begins nothing
  return deploy::shell_command(words);
}

/// Budget, strategy, seed and history, in the spec and in the document that is stored. The error is a sentence.
std::expected<void, std::string> override_file(const TuneOptions& options, tuner::CampaignSpec& spec) {
  if (options.trials) {
    if (*options.trials < 1) return std::unexpected("--trials must be at least 1");
    spec.budget.trials = options.trials;
    // In the document, too: it is what the database stores, and what a session that resumes reads.
    spec.document["budget"]["trials"] = *options.trials;
  }
  if (!options.wall.empty()) {
    const auto wall = tuner::parse_duration(options.wall);
    if (!wall) return std::unexpected("--wall: " + wall.error());
    spec.budget.wall = std::chrono::ceil<std::chrono::seconds>(*wall);
    spec.document["budget"]["wall"] = options.wall;
  }
  if (!options.until.empty()) {
    const auto until = tuner::parse_time_of_day(options.until);
    if (!until) return std::unexpected("--until: " + until.error());
    spec.budget.until = *until;
    spec.document["budget"]["until"] = options.until;
  }
  if (!options.strategy.empty()) {
    spec.strategy.name = options.strategy;
    spec.document["strategy"]["name"] = options.strategy;
  }
  if (options.seed) {
    spec.strategy.seed = *options.seed;
    spec.document["strategy"]["seed"] = *options.seed;
  }
  if (options.no_history) {
    spec.strategy.history = false;
    spec.document["strategy"]["history"] = false;
  }
  // Made once for its error alone: an unknown name is said now, not after the preflight.
  const auto strategy = search::make_strategy(spec.strategy.name, spec.space, {.seed = spec.strategy.seed});
  if (!strategy) return std::unexpected(strategy.error());
  return {};
}

/// A campaign during which the machine changes this often is on a machine that is being worked on.
constexpr int kMostGenerationsInOneSession = 5;

constexpr const char* kTuneFooter =
    "The default configuration is measured first. At the end the best and the default are measured again, in\n"
    "alternation; only that is reported as the gain. Ctrl-C ends after the run in flight and still gives the\n"
    "answer; a second one ends at once. SIGTERM does the same, and kills the run in flight after the time of\n"
    "--grace. Ctrl-Z ends the run in flight and stops; fg repeats it. When the terminal goes (SIGHUP) the\n"
    "campaign continues, and writes to logs/CAMPAIGN.log in the data folder. An installation or a build is cut\n"
    "at the first Ctrl-C, and where the time of --wall or --until is over; nothing failed then. The same command\n"
    "continues a campaign that was cut or killed.\n"
    "\n"
    "Finished campaigns of the database are its history. Trials of the same machine and workload count as\n"
    "evidence from the first trial on, until new measurements disagree; then they are forgotten and one line says\n"
    "so. Other campaigns suggest where to begin. What is reported was measured: in this campaign or, as 'show N'\n"
    "says then, in an equal trial of an earlier one on this machine. A campaign keeps\n"
    "the history it began with; --no-history takes it away.\n"
    "\n"
    "A campaign of more than half an hour begins with a preflight, which takes at most a tenth of its time. Each\n"
    "software stack (set of values of the environment and build parameters) is prepared and trained three steps,\n"
    "the largest batch first, and a list says what passed and what failed. What failed is told to the search as a\n"
    "failed trial. --preflight does only that, for all stacks; exit code 6: something failed. On a new machine the\n"
    "campaign first measures the machine's peak figures ('nocturne machine', about 20 s); a shorter campaign does\n"
    "so on demand only.\n"
    "\n"
    "What the machine can resolve decides how the campaign compares: in alternation, one after the other or side\n"
    "by side, how many pairs, which difference counts as none. It is measured once on a new machine\n"
    "('nocturne noise'; a campaign of more than half an hour does it first, for 3 minutes), and one\n"
    "line says the result. What the file says under 'verify' stays.\n"
    "\n"
    "With --nodes, or with an executor in its file, the campaign becomes a job of Slurm: a script is written into the\n"
    "data folder, checked and submitted. Inside of a job (salloc, sbatch) the nodes of that job are used. The data\n"
    "folder must be shared by all nodes. Where the job's time is over before the campaign's budget, the job queues\n"
    "itself again. With --slots gpu each GPU of a node measures by itself, with its share of the cores; whether they\n"
    "disturb each other is measured first. With --each-class idle nodes are asked what they are, and each class of\n"
    "nodes gets a campaign of its own, NAME-CLASS; they run one after the other, and each learns from those before\n"
    "it. docs/clusters.md\n"
    "\n"
    "The program of --on-finish is started directly, not through a shell, with the result in its environment:\n"
    "NOCTURNE_CAMPAIGN, NOCTURNE_GENERATION, NOCTURNE_DATABASE, NOCTURNE_ENDING (complete, already_done,\n"
    "interrupted, out_of_time, preflight_only, machine_changed, error), NOCTURNE_BECAUSE, NOCTURNE_EXIT_CODE and, if\n"
    "they are known, NOCTURNE_BEST_TRIAL, NOCTURNE_BEST_SECONDS, NOCTURNE_VERDICT, NOCTURNE_GAIN_PERCENT,\n"
    "NOCTURNE_GAIN_LOW_PERCENT, NOCTURNE_GAIN_HIGH_PERCENT, NOCTURNE_PROFILE, NOCTURNE_REPORT. If it fails, a line\n"
    "says so, and nothing else changes.\n"
    "\n"
    "A page to look at (nocturne report html) is written into the data folder, reports/CAMPAIGN.html: renewed while\n"
    "it runs, at most once a minute and never during a run, and once more at the end.\n"
    "\n"
    "A command of your own behind '--' needs no campaign file and no changed line. It runs once: which steps and\n"
    "which levers (what can be changed in the script from outside: precision, layout, compiler, loader, ...) it has,\n"
    "how long they take, which files it writes. Levers are varied, and around it threads, affinity, memory policy,\n"
    "wait policy, allocator, huge pages and framework variables; its own options if --vary names them (the first\n"
    "value, or the one that the command has, is the default). Each run works in a private view of your files, which\n"
    "stay as they are; but what it downloads into ~/.cache and the like is kept. --share and --writes-outside let\n"
    "runs write for real, in a folder or everywhere but in this one. A run ends when\n"
    "enough steps are known; where none are seen, --pattern finds them in what it prints, or the whole process is\n"
    "timed. Whether a script with levers learns as it does unchanged is checked before it may win; what --vary and\n"
    "--allow batch do to learning is not, unless --accuracy and --target make it the time until the script is as\n"
    "accurate as wanted.\n"
    "'nocturne apply NAME' runs it tuned, 'nocturne export --format changes' writes the lines that do\n"
    "the same in the script.\n"
    "\n"
    "Examples:\n"
    "  nocturne tune examples/mnist.json\n"
    "  nocturne tune --wall 15min -- python train.py --epochs 1\n"
    "  nocturne tune --wall 15min --allow batch -- python train.py\n"
    "  nocturne tune --wall 1h --allow batch --accuracy 'val_acc ([0-9.]+)' --target 0.98 -- python train.py\n"
    "  nocturne tune --vary '--workers=0,2,4' --wall 30min -- python train.py\n"
    "  nocturne tune --pattern '(?P<samples_per_second>[0-9.]+) images/s' --examples 60000 -- ./train --data d\n"
    "  nocturne tune --write-campaign train.json -- python train.py\n"
    "  nocturne tune campaign.json --dry-run\n"
    "  nocturne tune campaign.json --set /budget/wall=1h --set /space/parameters/threads/default=4\n"
    "  nocturne tune campaign.json --preflight\n"
    "  nocturne tune campaign.json --until 07:00\n"
    "  nocturne tune campaign.json --trials 200 --strategy random --seed 7\n"
    "  nocturne tune campaign.json --no-history\n"
    "  nocturne tune campaign.json --nodes 8 --partition cpu --time 08:00:00\n"
    "  nocturne tune campaign.json --nodes 8 --each-class\n"
    "  nocturne tune campaign.json --nodes 2 --gres gpu:4 --slots gpu\n"
    "  nocturne tune campaign.json --json > answer.json";

std::vector<space::Configuration> wanted_configurations(const TuneOptions& options, const Context& context,
                                                        const tuner::CampaignSpec& spec) {
  std::vector<space::Configuration> wanted;
  for (const std::string& words : options.measure) {
    auto configuration = read_configuration(spec.space, spec.space.default_configuration(), words);
    if (!configuration) refuse_to_tune(context, ExitCode::Usage, "--measure: " + configuration.error());
    wanted.push_back(*std::move(configuration));
  }
  return wanted;
}

/// What the sessions before of the campaign of this name as it is now have downloaded for its environments, in bytes,
/// by what the recipes say. 0: there is no such campaign yet.
std::int64_t downloaded_bytes(const db::Store& store, const std::string& campaign) {
  const auto known = store.find_campaign(campaign);
  if (!known) return 0;
  const auto builds = store.list_builds();
  std::int64_t bytes = 0;
  for (const db::BuildRecord& build : builds) {
    // The limit on downloads is the campaign's, not the session's.
    if (!db::environment_of(build) || build.created_unix_ns < known->created_unix_ns) continue;
    bytes += build.flags.value("download_bytes", std::int64_t{0});
  }
  return bytes;
}

/// One session of a campaign, with as many generations as the machine changes while it lasts.
class TuneSession {
 public:
  /// All outlive it. REQUIRES: measuring listens.
  TuneSession(const TuneOptions& options, Context& context, MeasurementContext& measuring, tuner::CampaignSpec& spec,
              const std::optional<tuner::Allocation>& allocation, JobFinish& finish)
      : allocation_(allocation),
        options_(options),
        context_(context),
        measuring_(measuring),
        spec_(spec),
        finish_(finish),
        heartbeat_(measuring.store().path(), context.command_given ? "" : spec.file.string(),
                   measuring.machine_clock()),
        live_report_(context, measuring.store(), measuring.clock(), measuring.display()),
        observers_({&measuring.display(), &heartbeat_, &live_report_}) {}

  ExitCode run(const std::vector<space::Configuration>& wanted, PreflightChoice preflight,
               const measure::SweepReport& swept) {
    tuner::LocalExecutor::Options local = measuring_.executor_options();
    local.installing = [this](std::string_view line) { observers_.installing(std::string(line)); };
    local.note = [this](const std::string& sentence) { observers_.note(sentence); };
    local.local_folder = context_.variable(tuner::kLocalFolderVariable).value_or("");
    local.downloaded_bytes = downloaded_bytes(measuring_.store(), spec_.name);
    tuner::LocalExecutor executor(spec_, std::move(local));
    if (preflight.preflight != tuner::PreflightMode::Only)
      settle_noise(measuring_, spec_, executor,
                   {.fresh = options_.fresh, .may_measure = !options_.no_noise, .on_nodes = allocation_.has_value()});
    // A machine that changes makes what was measured incomparable: the campaign begins again on the machine as it is
    // now, a few times at most.
    for (int generation = 0; generation < kMostGenerationsInOneSession; ++generation) {
      tuner::Session session = measuring_.make_session(spec_, executor, observers_);
      session.fingerprint_now = [this] { return measuring_.fingerprint_now(); };
      session.wanted = wanted;
      session.preflight = preflight.preflight;
      session.preflight_limit = preflight.limit;
      const bool fresh = options_.fresh && generation == 0;
      if (const auto code = end_of(tune(session, fresh, swept))) return *code;
      measuring_.look_again();
      preflight = {};  // nobody is there any more to see its list
    }
    refuse_to_tune(
        context_, ExitCode::Unavailable,
        fmt::format("the machine or its software changed {} times while it was measured: let it come to rest, then "
                    "run this again",
                    kMostGenerationsInOneSession));
  }

 private:
  tuner::SessionResult tune(tuner::Session& session, bool fresh, const measure::SweepReport& swept) {
    try {
      std::unique_ptr<tuner::SlurmExecutor> nodes;
      std::unique_ptr<tuner::CoordinatorWatch> watch;
      if (allocation_ && session.preflight != tuner::PreflightMode::Only) {
        nodes = open_nodes(*allocation_, options_.cluster, context_, session);
        watch = open_watch(*allocation_, context_);
      }
      return tuner::Campaign(session, fresh, nodes.get()).run(swept);
    } catch (const db::Error& error) {
      clear_display();
      heartbeat_.end("error", error.what());  // who watches is told why
      throw;
    }
  }

  /// Before more is said; to a terminal that is gone, nothing.
  void clear_display() {
    measuring_.display().clear();
    // Writing to a terminal that has hung up fails, and the failure would end a campaign that is to go on.
    if (!measuring_.terminal_is_gone()) return;
    context_.out->clear();
    context_.out_is_terminal = context_.err_is_terminal = false;
  }

  /// Says how it came out; empty: the machine has changed, and the campaign begins anew.
  std::optional<ExitCode> end_of(const tuner::SessionResult& result) {
    clear_display();
    finish_.ending = word_of(result.ending);
    finish_.because = result.because;
    heartbeat_.end(finish_.ending, finish_.because);
    if (result.ending == tuner::Ending::MachineChanged) return std::nullopt;
    if (result.ending == tuner::Ending::PreflightOnly) return report_preflight(context_, measuring_.store(), result);
    if (result.ending == tuner::Ending::AlreadyDone)
      *context_.err << "This campaign was completed before; nothing was measured. --fresh measures again.\n";
    live_report_.end();
    const ExitCode code = report_session(context_, measuring_.store(), result, same_again(context_), finish_);
    if (code != ExitCode::Interrupted) return code;
    if (measuring_.job_ends()) finish_.queue_again = allocation_;
    return measuring_.interruption_code();
  }

  const std::optional<tuner::Allocation>& allocation_;  ///< empty: this machine
  const TuneOptions& options_;
  Context& context_;
  MeasurementContext& measuring_;
  tuner::CampaignSpec& spec_;
  JobFinish& finish_;
  tuner::HeartbeatWriter heartbeat_;
  LiveReport live_report_;
  tuner::CompositeObserver observers_;
};

/// Nothing is made, started or stored.
ExitCode only_plan(TuneOptions options, const Context& context) {
  const tuner::Installation installation = tuner::find_installation();
  const auto frameworks = frameworks_here(context, installation);
  const measure::MachineFacts machine = measure::probe_machine(installation.machine_roots());
  CommandOptions& command = options.command;
  const bool unseen = context.command_given && command.time.empty() && command.pattern.empty();
  if (unseen) command.time = "process";  // else it would be run, to see
  auto spec = read_campaign(options, context, installation, measure::facts_of(machine), frameworks.get());
  if (const auto overridden = override_file(options, spec); !overridden)
    refuse_to_tune(context, ExitCode::Usage, overridden.error());
  (void)wanted_configurations(options, context, spec);
  return print_plan(context, spec, *frameworks, machine, unseen);
}

ExitCode tune(const TuneOptions& options, Context& context, JobFinish& finish) {
  const auto allocation = allocation_here(options.cluster, context);
  MeasurementContext measuring(context);
  auto spec = read_campaign(options, context, measuring.installation(), measuring.facts(), &measuring.frameworks());
  if (const auto overridden = override_file(options, spec); !overridden)
    refuse_to_tune(context, ExitCode::Usage, overridden.error());
  if (!options.command.write_campaign.empty()) return write_campaign(options.command, context, spec);
  const auto wanted = wanted_configurations(options, context, spec);
  if (!allocation && wants_job(options.cluster, spec)) {
    finish.submitted = true;
    return submit_campaign(options.cluster, context, spec);
  }
  const auto grace = options.grace == "0s" ? std::chrono::nanoseconds{0} : tuner::parse_duration(options.grace);
  if (!grace)
    refuse_to_tune(context, ExitCode::Usage, fmt::format("--grace: '{}' is not {}", options.grace, grace.error()));
  *context.err << fmt::format("Tuning '{}': which configuration is the fastest on this machine?\n", spec.name);
  finish.campaign = spec.name;
  finish.database = context.database().string();
  const auto swept = measuring.open_store(context.database());
  const auto preflight = choose_preflight(options.preflight, spec, measuring.store());
  // Before the machine is measured: what a killed session left may still fill the disk.
  tuner::remove_stray_runs(measuring.store(), context.runs_folder());
  if (preflight.preflight != tuner::PreflightMode::Only)
    know_machine(options.machine, context, spec, measuring.store(), measuring.machine());
  tuner::DefaultSettings defaults(spec.document, {});
  defaults.know(spec.space.default_configuration());
  measuring.listen({.grace = std::chrono::ceil<std::chrono::milliseconds>(*grace),
                    .say = {},
                    .log = context.data_folder() / "logs" / (spec.name + ".log"),
                    .out_is_terminal = context.out_is_terminal,
                    .err_is_terminal = context.err_is_terminal},
                   std::move(defaults));
  return TuneSession(options, context, measuring, spec, allocation, finish).run(wanted, preflight, swept);
}

/// A refusal and an error of the database are endings like others: --on-finish hears of them.
ExitCode tune_or_say_why(const TuneOptions& options, Context& context, JobFinish& finish) {
  try {
    return tune(options, context, finish);
  } catch (const Refusal& refusal) {
    return refusal.code;
  } catch (const db::Error& error) {
    return database_failed(context, error, finish);
  }
}

void setup(CLI::App& subcommand, TuneOptions& options) {
  add_value(subcommand, "file", options.file, "FILE", "The campaign file, or behind '--' a command of your own");
  subcommand.add_flag("--fresh", options.fresh, "Measure again whatever is known: begin a new generation");
  add_value(subcommand, "--trials", options.trials, "N", "Stop searching after this many trials", whole_number(1));
  add_value(subcommand, "--wall", options.wall, "DURATION",
            "Time for the whole campaign, all sessions together: 5min, 8h. Waiting for another campaign of these CPUs "
            "is no part of it, but where --until ends it",
            time_span());
  add_value(subcommand, "--until", options.until, "HH:MM", "Have the answer ready at this time of day", time_of_day());
  add_value(subcommand, "--strategy", options.strategy, "NAME",
            "Who proposes configurations: nocturne list strategies");
  add_value(subcommand, "--seed", options.seed, "N", "Seed of the strategy");
  subcommand.add_flag(
      "--no-history", options.no_history,
      "Learn nothing from finished campaigns of the database (neither does --fresh; of the strategies only "
      "auto and model learn at all)");
  add_value(subcommand, "--measure", options.measure, "CONFIGURATION",
            "Measure this configuration too (name=value,…; the rest as in the default); may be given again")
      ->allow_extra_args(false);
  add_value(subcommand, "--set", options.set, "POINTER=VALUE",
            "Replace a value of the file, such as /budget/wall=1h; may be given again")
      ->allow_extra_args(false);
  subcommand.add_flag("--dry-run", options.dry_run,
                      "Only say what would be done, in which order, how long it takes and what is downloaded");
  add_preflight(subcommand, options.preflight);
  add_no_noise(subcommand, options.no_noise);
  add_machine_measuring(subcommand, options.machine);
  add_value(subcommand, "--grace", options.grace, "DURATION",
            "After SIGTERM: time for the run in flight to be finished (default: 20s)");
  add_on_finish(subcommand, options.on_finish);
  add_cluster(subcommand, options.cluster);
  add_command(subcommand, options.command);
  subcommand.footer(kTuneFooter);
}

/// As they are meant. One option has two meanings: how a command is timed, and the wall limit of a job. A job that runs
/// again goes on, and begins nothing.
TuneOptions as_meant(TuneOptions options, const Context& context) {
  if (!is_command_timing(options.command.time)) options.cluster.slurm["time"] = std::exchange(options.command.time, {});
  if (context.variable("SLURM_RESTART_COUNT") || context.variable(tuner::kGoesOnVariable)) options.fresh = false;
  return options;
}

ExitCode run(const TuneOptions& given, Context& context) {
  const TuneOptions options = as_meant(given, context);
  if (options.dry_run) return only_plan(options, context);
  const auto program = find_on_finish(options.on_finish);
  if (!program) return complain(context, ExitCode::Usage, program.error());
  JobFinish finish;
  try {
    const ExitCode code = tune_or_say_why(options, context, finish);
    if (finish.submitted) return code;
    run_on_finish(context, options.on_finish, *program, finish, code);
    // The last act: it ends this process.
    return finish.queue_again && queue_job_again(*finish.queue_again, context) ? ExitCode::Ok : code;
  } catch (const std::exception& error) {
    finish.ending = "error";
    // Whoever waits for --on-finish hears of this end as of any other.
    finish.because = error.what();
    run_on_finish(context, options.on_finish, *program, finish, ExitCode::Internal);
    throw;
  }
}

}  // namespace

SubcommandAction add_tune(CLI::App& subcommand) {
  return add_options<TuneOptions>(subcommand);
}

}  // namespace nocturne::cli
