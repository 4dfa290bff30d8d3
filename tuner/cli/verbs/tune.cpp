#include "tuner/cli/verbs/tune.hpp"

#include <exception>
#include <expected>
#include <ostream>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "db/store.hpp"
#include "measure/machine/fingerprint.hpp"
#include "measure/machine/machine.hpp"
#include "measure/run/sweep.hpp"
#include "tuner/campaign/campaign.hpp"
#include "tuner/campaign/data_state.hpp"
#include "tuner/campaign/downloads.hpp"
#include "tuner/campaign/heartbeat/heartbeat_writer.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/choice/configuration_words.hpp"
#include "tuner/cli/choice/number_checks.hpp"
#include "tuner/cli/measuring/measuring.hpp"
#include "tuner/cli/measuring/noise_settling.hpp"
#include "tuner/cli/measuring/progress_display.hpp"
#include "tuner/cli/measuring/signals.hpp"
#include "tuner/cli/verbs/tune_overrides.hpp"
#include "tuner/cli/verbs/tune_report.hpp"
#include "tuner/cli/verbs/tune_source.hpp"
#include "tuner/installation/installation.hpp"
#include "tuner/executor/stray_runs.hpp"

namespace nocturne::cli {
namespace {

/// A campaign during which the machine changes this often is on a machine that somebody works on.
constexpr int kMostGenerationsInOneSitting = 5;

}  // namespace

void setup(CLI::App& verb, TuneOptions& options) {
  verb.add_option("file", options.file, "The campaign file, or behind '--' a command of your own")->type_name("FILE");
  verb.add_flag("--fresh", options.fresh, "Measure again whatever is known: begin a new generation");
  verb.add_option("--trials", options.trials, "Stop searching after this many trials")
      ->type_name("N")
      ->check(whole_number(1));
  verb.add_option("--wall", options.wall, "Time for the whole campaign, all sittings together: 5min, 8h")
      ->type_name("DURATION")
      ->check(time_span());
  verb.add_option("--until", options.until, "Have the answer ready at this time of day")
      ->type_name("HH:MM")
      ->check(time_of_day());
  verb.add_option("--strategy", options.strategy, "Who proposes configurations: nocturne list strategies")
      ->type_name("NAME");
  verb.add_option("--seed", options.seed, "Seed of the strategy")->type_name("N");
  verb.add_flag("--no-history", options.no_history,
                "Learn nothing from finished campaigns of the database (neither does --fresh; of the strategies only "
                "auto and model learn at all)");
  verb.add_option("--measure", options.measure,
                  "Measure this configuration too (name=value,…; the rest as in the default); may be given again")
      ->type_name("CONFIGURATION")
      ->allow_extra_args(false);
  add_rehearsal(verb, options.rehearsal);
  add_no_noise(verb, options.no_noise);
  add_machine_measuring(verb, options.machine);
  verb.add_option("--grace", options.grace, "After SIGTERM: time for the run in flight to be finished (default: 20s)")
      ->type_name("DURATION");
  add_on_finish(verb, options.on_finish);
  add_command(verb, options.command);
  verb.footer(
      "The default configuration is measured first; at the end the best and the default are measured again, in turns, "
      "and\n"
      "only that is the gain reported. Ctrl-C ends after the run in flight and still gives the answer; a second one "
      "ends\n"
      "at once. SIGTERM does the same, and kills the run in flight after the time of --grace. Ctrl-Z ends the run in "
      "flight\n"
      "and stops; fg repeats it. When the terminal goes (SIGHUP) the campaign goes on: what it says then stands in\n"
      "logs/CAMPAIGN.log in the data folder. A campaign that was killed goes on where it was: the same command again.\n"
      "\n"
      "Finished campaigns of the database are its history. Of the same machine and workload: their trials count as\n"
      "evidence from the first trial on, until new measurements disagree; then they are forgotten and that is said. "
      "Of\n"
      "others: they suggest where to begin. What is reported was measured in this campaign. A campaign keeps the "
      "history\n"
      "it began with; --no-history takes it away.\n"
      "\n"
      "A campaign that will last for more than half an hour begins with a rehearsal, which takes at most a tenth of "
      "its\n"
      "time: each row (set of values of the environment and build parameters) is prepared and trained three steps, "
      "the\n"
      "largest batch first, and a list says what goes and what does not. What does not is told to the search as a "
      "failed\n"
      "trial. --rehearse does only that, for all rows; exit code 6: something will not go. On a new machine it is "
      "first\n"
      "measured what that could do at best ('nocturne machine', about 20 s); a shorter campaign does so on demand "
      "only.\n"
      "\n"
      "What the machine can tell apart decides how the campaign compares: taking turns, one after the other or side by "
      "side,\n"
      "how many pairs, which difference counts as none, how often a contender runs. It is measured once on a new "
      "machine\n"
      "('nocturne noise'; a campaign of more than half an hour does it first, for 3 minutes) and said in one line. "
      "What the\n"
      "file says under 'verify' stays.\n"
      "\n"
      "The program of --on-finish is started directly, not through a shell, with the result in its environment:\n"
      "NOCTURNE_CAMPAIGN, NOCTURNE_GENERATION, NOCTURNE_DATABASE, NOCTURNE_ENDING (complete, already_done, "
      "interrupted,\n"
      "rehearsed, machine_changed, error), NOCTURNE_BECAUSE, NOCTURNE_EXIT_CODE and, where they are known, "
      "NOCTURNE_BEST_TRIAL,\n"
      "NOCTURNE_BEST_SECONDS, NOCTURNE_VERDICT, NOCTURNE_GAIN_PERCENT, NOCTURNE_GAIN_LOW_PERCENT,\n"
      "NOCTURNE_GAIN_HIGH_PERCENT, NOCTURNE_PROFILE. That it fails is said, and changes nothing.\n"
      "\n"
      "A command of your own behind '--' needs no campaign file: threads, affinity, wait policy, allocator, huge pages "
      "and\n"
      "framework variables are tried around it, as it is; its own options where --vary names them (the first value, or "
      "the\n"
      "one the command has, is the default). It starts in this folder, again and again: what it writes there, it "
      "writes\n"
      "each time. The whole process is timed, or its steps where it imports nocturne_steps "
      "(kernels/python/nocturne_steps.py,\n"
      "one file) and calls step(); it is then ended when enough steps are done. What it learns is not judged: compare "
      "that\n"
      "yourself where you vary more than its surroundings. 'nocturne apply NAME' runs it tuned.\n"
      "\n"
      "Examples:\n"
      "  nocturne tune examples/mnist.json\n"
      "  nocturne tune -- python train.py --epochs 1\n"
      "  nocturne tune --vary '--batch-size=32,64,128' --examples 60000 --wall 30min -- python train.py\n"
      "  nocturne tune --pattern '(?P<samples_per_second>[0-9.]+) images/s' --examples 60000 -- ./train --data d\n"
      "  nocturne tune --write-campaign train.json -- python train.py\n"
      "  nocturne tune campaign.json --rehearse\n"
      "  nocturne tune campaign.json --until 07:00\n"
      "  nocturne tune campaign.json --trials 200 --strategy random --seed 7\n"
      "  nocturne tune campaign.json --no-history\n"
      "  nocturne tune campaign.json --json > answer.json");
}

namespace {

ExitCode tune(const TuneOptions& options, Context& context, Finish& finish) {
  if (const auto made = context.make_folders(); !made) {
    *context.err << "nocturne tune: " << made.error() << '\n';
    return ExitCode::Unavailable;
  }
  const tuner::Installation installation = tuner::find_installation();
  const measure::MachineRoots roots{.onednn_prefix = installation.onednn_prefix};
  measure::MachineFacts machine = measure::probe_machine(roots);
  const auto frameworks = frameworks_here(context, installation);
  auto spec = read_campaign(options, context, installation, measure::facts_of(machine), frameworks.get());
  if (!spec) return spec.error();
  if (const auto overridden = override_file(options, *spec); !overridden) {
    *context.err << "nocturne tune: " << overridden.error() << '\n';
    return ExitCode::Usage;
  }
  if (!options.command.write_campaign.empty()) return write_campaign(options.command, context, *spec);
  std::vector<space::Configuration> wanted;
  for (const std::string& words : options.measure) {
    auto configuration = read_configuration(spec->space, spec->space.default_configuration(), words);
    if (!configuration) {
      *context.err << "nocturne tune: --measure: " << configuration.error() << '\n';
      return ExitCode::Usage;
    }
    wanted.push_back(*std::move(configuration));
  }
  const auto grace = options.grace == "0s" ? std::chrono::nanoseconds{0} : tuner::parse_duration(options.grace);
  if (!grace) {
    *context.err << "nocturne tune: --grace: '" << options.grace << "' is not " << grace.error() << '\n';
    return ExitCode::Usage;
  }
  if (const std::string missing = missing_supervisor(); !missing.empty()) {
    *context.err << "nocturne tune: " << missing << '\n';
    return ExitCode::Unavailable;
  }
  *context.err << fmt::format("Tuning '{}': which configuration is the fastest on this machine?\n", spec->name);
  finish.campaign = spec->name;
  finish.database = context.database().string();
  tuner::Interruption interruption;
  db::StoreOptions store_patience = store_options(context);
  store_patience.waiting = [&interruption, say = store_patience.waiting](const db::LockWait& wait) {
    return say(wait) && !interruption.requested();
  };
  auto store = db::Store::open(context.database(), db::Mode::ReadWrite, std::move(store_patience));
  if (!store) return database_failed(context, store.error(), finish);
  tell_notice(context, *store);
  auto rehearsal = choose_rehearsal(options.rehearsal, *spec, *store);
  if (!rehearsal) return database_failed(context, rehearsal.error(), finish);
  const measure::SweepReport swept = measure::sweep();
  if (const auto strays = tuner::remove_stray_runs(*store, context.runs_folder()); !strays) {
    return database_failed(context, strays.error(), finish);
  }
  if (rehearsal->rehearse != tuner::Rehearse::Only) know_machine(options.machine, context, *spec, *store, machine);

  const SignalWatch signals(
      interruption,
      {.grace = std::chrono::ceil<std::chrono::milliseconds>(*grace),
       .say = [&context](const std::string& sentence) { *context.err << '\n' + sentence + '\n'
                                                                     << std::flush; },
       .log = context.data_folder() / "logs" / (spec->name + ".log"),
       .out_is_terminal = context.out_is_terminal,
       .err_is_terminal = context.err_is_terminal});
  ProgressDisplay display(context, &signals.hung_up(), tuner::DefaultSettings(spec->document, {}));
  const tuner::SystemClock clock;
  tuner::HeartbeatWriter heartbeat(store->path(), spec->file.string(), clock);
  tuner::Audience audience({&display, &heartbeat});
  tuner::LocalExecutor::Options local = executor_options(context, installation, machine, frameworks);
  local.installing = [&audience](std::string_view line) { audience.installing(std::string(line)); };
  const auto downloaded = tuner::downloaded_bytes(*store, spec->name);
  if (!downloaded) return database_failed(context, downloaded.error(), finish);
  local.downloaded_bytes = *downloaded;
  tuner::LocalExecutor executor(*spec, std::move(local));

  if (rehearsal->rehearse != tuner::Rehearse::Only) {
    const auto settled = settle_noise({.context = context,
                                       .spec = *spec,
                                       .store = *store,
                                       .executor = executor,
                                       .clock = clock,
                                       .interruption = interruption,
                                       .fingerprint = measure::fingerprint_of(machine),
                                       .fresh = options.fresh,
                                       .may_measure = !options.no_noise});
    if (!settled) return database_failed(context, settled.error(), finish);
  }

  bool fresh = options.fresh;
  for (int generation = 0; generation < kMostGenerationsInOneSitting; ++generation) {
    const space::Fingerprint fingerprint = measure::fingerprint_of(machine);
    tuner::Sitting sitting{.spec = *spec,
                           .store = *store,
                           .executor = executor,
                           .observer = audience,
                           .clock = clock,
                           .interruption = interruption,
                           .fingerprint_now =
                               [&fingerprint, &roots] {
                                 return measure::with_cheap_fields(fingerprint, measure::probe_machine_cheaply(roots));
                               },
                           .fingerprint = fingerprint,
                           .images = tuner::data_state(spec->workload),
                           .wanted = wanted,
                           .rehearse = rehearsal->rehearse,
                           .rehearsal_limit = rehearsal->limit};
    const auto result = tuner::Campaign(sitting, fresh).run(swept);
    display.clear();
    if (signals.hung_up()) {
      context.out->clear();
      context.out_is_terminal = context.err_is_terminal = false;
    }
    if (!result) {
      heartbeat.end("error", result.error().message);
      return database_failed(context, result.error(), finish);
    }
    finish.ending = word_of(result->ending);
    finish.because = result->because;
    heartbeat.end(finish.ending, finish.because);
    if (result->ending == tuner::Ending::Rehearsed) return report_rehearsal(context, *store, *result);
    if (result->ending != tuner::Ending::MachineChanged) {
      if (result->ending == tuner::Ending::AlreadyDone) {
        *context.err << "This campaign was completed before; nothing was measured. --fresh measures again.\n";
      }
      const ExitCode code = report_sitting(context, *store, *result, same_again(context), finish);
      return code == ExitCode::Interrupted ? signals.interruption_code() : code;
    }
    machine = measure::probe_machine(roots);
    fresh = false;
    *rehearsal = {};  // nobody is there any more to see its list
  }
  *context.err << fmt::format(
      "nocturne tune: the machine or its software changed {} times while it was measured: let it come to rest, then "
      "run this again\n",
      kMostGenerationsInOneSitting);
  return ExitCode::Unavailable;
}

}  // namespace

ExitCode run(const TuneOptions& options, Context& context) {
  const auto program = find_on_finish(options.on_finish);
  if (!program) return complain(context, ExitCode::Usage, program.error());
  Finish finish;
  try {
    const ExitCode code = tune(options, context, finish);
    run_on_finish(context, options.on_finish, *program, finish, code);
    return code;
  } catch (const std::exception& error) {
    finish.ending = "error";
    finish.because = error.what();
    run_on_finish(context, options.on_finish, *program, finish, ExitCode::Internal);
    throw;
  }
}

}  // namespace nocturne::cli
