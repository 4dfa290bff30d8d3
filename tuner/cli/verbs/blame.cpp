#include "tuner/cli/verbs/blame.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <ostream>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "measure/machine/fingerprint.hpp"
#include "measure/machine/machine.hpp"
#include "measure/run/sweep.hpp"
#include "tuner/campaign/answer/answer.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/choice/number_checks.hpp"
#include "tuner/cli/choice/pair_options.hpp"
#include "tuner/cli/choice/profile_choice.hpp"
#include "tuner/cli/measuring/measuring.hpp"
#include "tuner/cli/measuring/signals.hpp"
#include "tuner/cli/output/blame_page.hpp"
#include "tuner/cli/output/format.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/deploy/accused.hpp"
#include "tuner/deploy/blame_record.hpp"
#include "tuner/installation/installation.hpp"
#include "tuner/executor/local_executor.hpp"

namespace nocturne::cli {
namespace {

namespace fs = std::filesystem;

/// What the word means; says what is wrong.
std::expected<deploy::Case, ExitCode> find_case(const BlameOptions& options, const Context& context) {
  std::error_code ignored;
  const fs::path file = profile_file(options.what, context);
  const bool has_database = fs::exists(context.database(), ignored);
  if (fs::is_regular_file(file, ignored)) {
    const auto profile = open_profile(options.what, context);
    if (!profile) return std::unexpected(profile.error());
    const auto store =
        has_database ? std::optional(db::Store::open(context.database(), db::Mode::ReadOnly)) : std::nullopt;
    return deploy::case_of(*profile, store && *store ? &**store : nullptr);
  }
  const auto opened = open_campaign(context, {.name = options.what, .generation = {}});
  if (!opened) return std::unexpected(opened.error());
  const auto answer = tuner::answer_of(opened->store, opened->campaign);
  if (!answer) return std::unexpected(complain(context, answer.error()));
  auto found = deploy::case_of(*answer, opened->store);
  if (!found) return std::unexpected(complain(context, ExitCode::NotFound, found.error()));
  return *std::move(found);
}

/// Prepares the present program and those of then, measures, concludes.
class Court {
 public:
  Court(const BlameOptions& options, const Context& context, deploy::Case found)
      : options_(options),
        context_(context),
        case_(std::move(found)),
        installation_(tuner::find_installation()),
        machine_(measure::probe_machine({.onednn_prefix = installation_.onednn_prefix})),
        frameworks_(frameworks_here(context, installation_)),
        signals_(interruption_, {.say = [&context](const std::string& sentence) {
                   *context.err << '\n' + sentence + '\n' << std::flush;
                 }}) {}

  ExitCode run(const std::optional<std::chrono::nanoseconds>& time) {
    const std::string document = deploy::blame_campaign(case_.accused).dump();
    const auto spec =
        tuner::parse_campaign(document, "the configuration", "/", measure::facts_of(machine_), frameworks_.get());
    if (!spec) return complain(context_, ExitCode::Usage, one_line(tuner::to_text(spec.error())));
    tuner::LocalExecutor executor(*spec, executor_options(context_, installation_, machine_, frameworks_));
    const auto began = clock_.steady();
    say("preparing the present program");
    const auto present = prepare(executor, spec->space.default_configuration());
    if (!present) return cannot(present.error());

    const deploy::Circumstances now{
        .machine = measure::fingerprint_of(machine_), .artifact = present->artifact, .build = present->build};
    std::error_code ignored;
    const deploy::Exhibits exhibits{
        .old_program = !case_.program.empty() && fs::is_regular_file(case_.program, ignored),
        .old_compiler = deploy::compiler_of_then(machine_.compilers, case_.then.build)};
    auto suspects = deploy::suspects_between(case_.then, now, exhibits);
    std::vector<deploy::ProgramTrial> trials;
    if (!options_.only_list)
      trials = make_trials(suspects, *present, exhibits, executor, spec->space.default_configuration());

    deploy::PresentTimes times;
    std::optional<KeptInquiry> kept;
    if (!options_.only_list && (!suspects.empty() || case_.estimate)) {
      auto store =
          db::Store::open(context_.data_folder() / "verifications.db", db::Mode::ReadWrite, store_options(context_));
      if (!store) return complain(context_, store.error());
      tell_notice(context_, *store);
      auto record = deploy::BlameRecord::open(*store, *spec, now.machine, present->schedule,
                                              deploy::blamed_programs(*present, trials, suspects));
      if (!record) return complain(context_, record.error());
      kept = KeptInquiry{.database = store->path(),
                         .campaign = spec->name,
                         .generation = record->generation(),
                         .runs_before = record->found()};
      if (kept->runs_before > 0) {
        say(fmt::format("goes on with {} runs of the present program that an earlier sitting left", kept->runs_before));
      }
      auto measured = deploy::measure_programs(
          {.spec = *spec,
           .executor = executor,
           .clock = clock_,
           .interruption = interruption_,
           .present = *present,
           .record = *record,
           .pairs = options_.pairs,
           .most_pairs = std::max(options_.pairs, options_.most_pairs),
           .time_for = [&](std::chrono::nanoseconds work) { return !time || clock_.steady() - began + work <= *time; },
           .say = [this](const std::string& sentence) { say(sentence); }},
          trials, suspects);
      if (!measured) return cannot(measured.error());
      times = std::move(*measured);
      if (const auto closed = record->close(!times.cut_short); !closed) return complain(context_, closed.error());
    }
    const auto change =
        deploy::whole_change(times, case_.estimate, spec->run.process_luck, spec->verify.margin_percent);
    const deploy::Blame blame = deploy::conclude(suspects, change);
    if (context_.json) {
      print_json(context_, "blame", blame_json(case_.accused.name, suspects, change, blame, kept));
    } else {
      print_blame(context_, suspects, change, blame, kept);
    }
    if (interruption_.requested()) return signals_.interruption_code();
    return blame.told ? ExitCode::Ok : ExitCode::Negative;
  }

 private:
  using Made = std::expected<tuner::Prepared, std::string>;

  Made prepare(tuner::Executor& executor, const space::Configuration& configuration) {
    auto prepared = interruption_.past_suspensions(
        [&](std::stop_token stop) { return executor.prepare(configuration, std::move(stop)); });
    if (!prepared) return std::unexpected(prepared.error().reason);
    return *std::move(prepared);
  }

  /// One for each suspect that can be set apart.
  std::vector<deploy::ProgramTrial> make_trials(std::vector<deploy::Suspect>& suspects, const tuner::Prepared& present,
                                                const deploy::Exhibits& exhibits, tuner::Executor& executor,
                                                const space::Configuration& configuration) {
    std::vector<deploy::ProgramTrial> trials;
    for (std::size_t i = 0; i < suspects.size(); ++i) {
      deploy::Suspect& suspect = suspects[i];
      if (suspect.apart == deploy::Apart::Program && !present.contained && !present.argv.empty()) {
        deploy::ProgramTrial trial{.suspect = i, .other = present};
        trial.other.argv.front() = case_.program.string();
        trial.other.artifact = case_.then.artifact;
        trials.push_back(std::move(trial));
      } else if (suspect.apart == deploy::Apart::Compiler) {
        say("building with " + exhibits.old_compiler);
        space::Configuration by_old = configuration;
        by_old.set("compiler", exhibits.old_compiler);
        auto built = prepare(executor, by_old);
        if (built) {
          trials.push_back({.suspect = i, .other = *std::move(built)});
        } else {
          suspect.apart = deploy::Apart::No;
          suspect.why_not = "the compiler of then does not build it: " + built.error();
        }
      } else if (suspect.apart == deploy::Apart::Program) {
        suspect.apart = deploy::Apart::No;
        suspect.why_not = "it runs in a container, whose present image is the only one";
      }
    }
    return trials;
  }

  ExitCode cannot(const std::string& why) {
    if (interruption_.requested()) return signals_.interruption_code();
    return complain(context_, ExitCode::Unavailable, "it could not be measured: " + why);
  }

  void say(const std::string& sentence) const {
    if (!context_.json) *context_.err << sentence << '\n' << std::flush;
  }

  const BlameOptions& options_;
  const Context& context_;
  deploy::Case case_;
  tuner::Installation installation_;
  measure::MachineFacts machine_;
  std::shared_ptr<const tuner::Frameworks> frameworks_;
  tuner::SystemClock clock_;
  tuner::Interruption interruption_;
  SignalWatch signals_;
};

}  // namespace

void setup(CLI::App& verb, BlameOptions& options) {
  verb.add_option("what", options.what,
                  "A profile's JSON file, the name of a campaign that was exported, or of any campaign")
      ->type_name("PROFILE|CAMPAIGN")
      ->required();
  verb.add_option("--time", options.time, "No pair is begun that would end later: 20min, 1h")
      ->type_name("DURATION")
      ->check(time_span());
  add_pair_options(verb, options.pairs, options.most_pairs);
  verb.add_flag(
      "--list", options.only_list,
      "Only say what changed; measure nothing. The present program is built, to be compared with the one of then");
  verb.footer(
      "After an upgrade: compares machine and program of then with the present ones, field by field, and says what "
      "changed.\n"
      "What can be set apart here is measured, the present one against the one of then, both alive and in turns: the "
      "old build\n"
      "or environment while it is still stored, the present sources by the compiler of then while that is installed. "
      "Kernel,\n"
      "microcode and driver are one at a time: they are named, and that it cannot be told is said.\n"
      "\n"
      "Exit code 0: there is an answer (a culprit, or nothing became slower), 1: it cannot be told, 5: it could not "
      "be\n"
      "measured. What was measured is kept in verifications.db of the data folder, as the campaign blame-NAME; the "
      "same call\n"
      "goes on where it was interrupted, killed, or out of time.\n"
      "\n"
      "Examples:\n"
      "  nocturne blame mnist-evening\n"
      "  nocturne blame /etc/nocturne/train.json --time 20min\n"
      "  nocturne blame mnist-evening --list --json\n"
      "  nocturne --db ~/.local/share/nocturne/verifications.db list comparisons blame-mnist-evening\n");
}

ExitCode run(const BlameOptions& options, Context& context) {
  std::optional<std::chrono::nanoseconds> time;
  if (!options.time.empty()) {
    const auto parsed = tuner::parse_duration(options.time);
    if (!parsed) return complain(context, ExitCode::Usage, "--time: " + parsed.error());
    time = *parsed;
  }
  auto found = find_case(options, context);
  if (!found) return found.error();
  if (const std::string missing = missing_supervisor(); !missing.empty()) {
    return complain(context, ExitCode::Unavailable, missing);
  }
  if (const auto made = context.make_folders(); !made) return complain(context, ExitCode::Unavailable, made.error());
  static_cast<void>(measure::sweep());
  return Court(options, context, *std::move(found)).run(time);
}

}  // namespace nocturne::cli
