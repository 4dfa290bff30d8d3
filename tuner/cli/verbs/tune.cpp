#include "tuner/cli/verbs/tune.hpp"

#include <expected>
#include <ostream>

#include <fmt/format.h>

#include "db/store.hpp"
#include "measure/fingerprint.hpp"
#include "measure/machine.hpp"
#include "measure/sweep.hpp"
#include "search/registry.hpp"
#include "tuner/campaign/answer.hpp"
#include "tuner/campaign/campaign.hpp"
#include "tuner/campaign/search_options.hpp"
#include "tuner/campaign_file.hpp"
#include "tuner/cli/configuration_words.hpp"
#include "tuner/cli/output/answer_page.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/cli/progress_display.hpp"
#include "tuner/cli/signals.hpp"
#include "tuner/deploy/make_profile.hpp"
#include "tuner/executor/installation.hpp"
#include "tuner/executor/local_executor.hpp"

namespace nocturne::cli {
namespace {

/// A campaign during which the machine changes this often is on a machine that somebody works on.
constexpr int kMostGenerationsInOneSitting = 5;

/// What the command line says instead of the file. The error is a sentence.
std::expected<void, std::string> override_budget(const TuneOptions& options, tuner::CampaignSpec& spec) {
  if (options.trials) {
    if (*options.trials < 1) return std::unexpected("--trials must be at least 1");
    spec.budget.trials = options.trials;
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
  const auto strategy = search::make_strategy(spec.strategy.name, spec.space, {.seed = spec.strategy.seed});
  if (!strategy) return std::unexpected(strategy.error());
  return {};
}

ExitCode database_failed(const Context& context, const db::Error& error) {
  *context.err << "nocturne tune: " << error.message << '\n';
  return ExitCode::Database;
}

struct ProfileReport {
  nlohmann::json json;
  std::string text;
};

/// Writes the profile of the best, so that a night ends with something to deploy.
ProfileReport export_profile(const Context& context, const db::Store& store, const tuner::Answer& answer) {
  if (!answer.best) return {};
  const auto profile = deploy::make_profile(
      store, answer,
      deploy::present_circumstances(answer.campaign.spec.value("/workload/data"_json_pointer, "mnist"),
                                    context.builds_folder()));
  if (!profile) return {.json = {}, .text = "No profile was written: " + profile.error() + "\n"};
  const auto written = deploy::write_profile(context.profiles_folder(), *profile);
  if (!written) return {.json = {}, .text = "No profile was written: " + written.error() + "\n"};
  return {.json = {{"json", written->json.string()}, {"env", written->env.string()}, {"sh", written->sh.string()}},
          .text = fmt::format("Profile   {}\nRun it    sh {}\nApply it  nocturne apply {} -- COMMAND\n",
                              written->json.string(), written->sh.string(), written->json.string())};
}

ExitCode report(const Context& context, const db::Store& store, const tuner::SittingResult& result,
                const std::string& file) {
  const auto summary = store.list_campaigns();
  if (!summary) return database_failed(context, summary.error());
  for (const db::CampaignSummary& campaign : *summary) {
    if (campaign.id != result.campaign) continue;
    const auto answer = tuner::answer_of(store, campaign);
    if (!answer) return database_failed(context, answer.error());
    const ProfileReport profile = export_profile(context, store, *answer);
    const auto going_on = tuner::going_on(store, campaign, measure::facts_of(measure::probe_machine_cheaply()));
    if (context.json) {
      nlohmann::json document = answer_json(*answer);
      document["ending"] = result.because;
      document["going_on"] = going_on_json(going_on);
      document["profile"] = profile.json;
      print_json(context, document);
    } else {
      *context.out << '\n';
      print_answer(context, *answer);
      print_going_on(context, going_on);
      *context.out << profile.text;
      if (result.ending == tuner::Ending::Interrupted) {
        *context.out << fmt::format("Go on     nocturne tune {}\n", file);
      }
    }
    if (result.ending == tuner::Ending::Interrupted) return ExitCode::Interrupted;
    return answer->best ? ExitCode::Ok : ExitCode::Negative;
  }
  return ExitCode::NotFound;
}

}  // namespace

void setup(CLI::App& verb, TuneOptions& options) {
  verb.add_option("file", options.file, "The campaign file")->type_name("FILE")->required();
  verb.add_flag("--fresh", options.fresh, "Measure again whatever is known: begin a new generation");
  verb.add_option("--trials", options.trials, "Stop searching after this many trials")->type_name("N");
  verb.add_option("--wall", options.wall, "Time for the whole campaign, all sittings together: 5min, 8h")
      ->type_name("DURATION");
  verb.add_option("--until", options.until, "Have the answer ready at this time of day")->type_name("HH:MM");
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
  verb.footer(
      "The default configuration is measured first; at the end the best and the default are measured again, in turns, and\n"
      "only that is the gain reported. Ctrl-C ends after the run in flight and still gives the answer; a second one ends\n"
      "at once. A campaign that was killed goes on where it was: the same command again.\n"
      "\n"
      "Finished campaigns of the database are its history. Of the same machine and workload: their trials count as\n"
      "evidence from the first trial on, until new measurements disagree; then they are forgotten and that is said. Of\n"
      "others: they suggest where to begin. What is reported was measured in this campaign. A campaign keeps the history\n"
      "it began with; --no-history takes it away.\n"
      "\n"
      "Examples:\n"
      "  nocturne tune examples/mnist.json\n"
      "  nocturne tune campaign.json --until 07:00\n"
      "  nocturne tune campaign.json --trials 200 --strategy random --seed 7\n"
      "  nocturne tune campaign.json --no-history\n"
      "  nocturne tune campaign.json --json > answer.json");
}

ExitCode run(const TuneOptions& options, Context& context) {
  if (const auto made = context.make_folders(); !made) {
    *context.err << "nocturne tune: " << made.error() << '\n';
    return ExitCode::Unavailable;
  }
  const tuner::Installation installation = tuner::find_installation();
  const measure::MachineRoots roots{.onednn_prefix = installation.onednn_prefix};
  measure::MachineFacts machine = measure::probe_machine(roots);
  auto spec = tuner::load_campaign(options.file, measure::facts_of(machine));
  if (!spec) {
    *context.err << tuner::to_text(spec.error()) << '\n';
    return ExitCode::Usage;
  }
  if (const auto overridden = override_budget(options, *spec); !overridden) {
    *context.err << "nocturne tune: " << overridden.error() << '\n';
    return ExitCode::Usage;
  }
  std::vector<space::Configuration> wanted;
  for (const std::string& words : options.measure) {
    auto configuration = read_configuration(spec->space, spec->space.default_configuration(), words);
    if (!configuration) {
      *context.err << "nocturne tune: --measure: " << configuration.error() << '\n';
      return ExitCode::Usage;
    }
    wanted.push_back(*std::move(configuration));
  }
  if (measure::find_supervisor().empty()) {
    *context.err << "nocturne tune: the program nocturne-supervisor is not beside nocturne: build it, or name it in "
                    "NOCTURNE_SUPERVISOR_PROGRAM\n";
    return ExitCode::Unavailable;
  }
  auto store = db::Store::open(context.database(), db::Mode::ReadWrite);
  if (!store) return database_failed(context, store.error());
  const measure::SweepReport swept = measure::sweep();

  tuner::LocalExecutor executor(*spec, {.installation = installation,
                                        .builds_folder = context.builds_folder(),
                                        .runs_folder = context.runs_folder(),
                                        .memory_bytes = tuner::usual_memory_limit(machine.usable_memory_bytes())});
  ProgressDisplay display(context);
  const tuner::SystemClock clock;
  tuner::Interruption interruption;
  const SignalWatch signals(interruption, [&context] {
    *context.err << "\nEnding after the run in flight; Ctrl-C again ends at once.\n" << std::flush;
  });

  bool fresh = options.fresh;
  for (int generation = 0; generation < kMostGenerationsInOneSitting; ++generation) {
    const space::Fingerprint fingerprint = measure::fingerprint_of(machine);
    tuner::Sitting sitting{.spec = *spec,
                           .store = *store,
                           .executor = executor,
                           .observer = display,
                           .clock = clock,
                           .interruption = interruption,
                           .fingerprint_now = [&fingerprint, &roots] {
                             return measure::with_cheap_fields(fingerprint, measure::probe_machine_cheaply(roots));
                           },
                           .fingerprint = fingerprint,
                           .wanted = wanted};
    const auto result = tuner::Campaign(sitting, fresh).run(swept.processes);
    display.clear();
    if (!result) {
      *context.err << "nocturne tune: " << result.error().message << '\n';
      return result.error().code == db::ErrorCode::Owned ? ExitCode::Unavailable : ExitCode::Database;
    }
    if (result->ending != tuner::Ending::MachineChanged) {
      if (result->ending == tuner::Ending::AlreadyDone) {
        *context.err << "This campaign was completed before; nothing was measured. --fresh measures again.\n";
      } else if (!context.json) {
        *context.err << "The search ended: " << result->because << ".\n";
      }
      return report(context, *store, *result, options.file);
    }
    machine = measure::probe_machine(roots);
    fresh = false;
  }
  *context.err << fmt::format("nocturne tune: the machine or its software changed {} times while it was measured: let it "
                              "come to rest, then run this again\n",
                              kMostGenerationsInOneSitting);
  return ExitCode::Unavailable;
}

}  // namespace nocturne::cli
