#include "tuner/cli/subcommands/blame.hpp"

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "tuner/campaign/answer/answer.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/choice/number_checks.hpp"
#include "tuner/cli/choice/pair_options.hpp"
#include "tuner/cli/choice/profile_choice.hpp"
#include "tuner/cli/measuring/measurement_context.hpp"
#include "tuner/cli/output/blame_page.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/deploy/blame_baseline.hpp"
#include "tuner/deploy/blame_record.hpp"

namespace nocturne::cli {
namespace {

namespace fs = std::filesystem;

/// What the word means; says what is wrong.
std::expected<deploy::BlameBaseline, ExitCode> find_baseline(const BlameOptions& options, const Context& context) {
  std::error_code ignored;
  const fs::path file = profile_file(options.what, context);
  const bool has_database = fs::exists(context.database(), ignored);
  if (fs::is_regular_file(file, ignored)) {
    const auto profile = open_profile(options.what, context);
    if (!profile) return std::unexpected(profile.error());
    std::optional<db::Store> store;
    try {
      if (has_database) store = db::Store::open(context.database(), db::Mode::ReadOnly);
    } catch (const db::Error&) {
      // The profile says enough.
    }
    return deploy::blame_baseline(*profile, store ? &*store : nullptr);
  }
  const auto opened = open_campaign(context, {.name = options.what, .generation = {}});
  if (!opened) return std::unexpected(opened.error());
  const auto answer = tuner::answer_of(opened->store, opened->campaign);
  auto found = deploy::blame_baseline(answer, opened->store);
  if (!found) return std::unexpected(complain(context, ExitCode::NotFound, found.error()));
  return *std::move(found);
}

/// What became of the present program and of what it is compared with.
struct BlameFindings {
  std::vector<deploy::CandidateCause> causes;
  std::optional<deploy::WholeChange> change;
  std::optional<KeptEvidence> kept;
};

/// Prepares the present program and those of then, and measures them.
class BlameSession {
 public:
  BlameSession(const BlameOptions& options, const Context& context, MeasurementContext& measuring,
               const deploy::BlameBaseline& baseline, const tuner::CampaignSpec& spec)
      : options_(options),
        context_(context),
        measuring_(measuring),
        baseline_(baseline),
        spec_(spec),
        executor_(measuring.make_executor(spec)),
        session_(measuring.make_session(spec, *executor_)) {}

  std::expected<BlameFindings, ExitCode> run(const std::optional<std::chrono::nanoseconds>& time) {
    const auto began = measuring_.clock().steady();
    say("preparing the present program");
    const auto present = session_.prepare(spec_.space.default_configuration());
    if (!present) return std::unexpected(cannot(present.error().reason));
    std::error_code ignored;
    const deploy::Circumstances now{
        .machine = measuring_.fingerprint(), .artifact = present->artifact, .build = present->build};
    const deploy::Evidence evidence{
        .old_program = !baseline_.program.empty() && fs::is_regular_file(baseline_.program, ignored),
        .old_compiler = deploy::compiler_of_then(measuring_.machine().compilers, baseline_.then.build)};
    BlameFindings findings{.causes = deploy::candidate_causes(baseline_.then, now, evidence), .change = {}, .kept = {}};
    if (options_.only_list || (findings.causes.empty() && !baseline_.estimate)) return findings;
    const auto tests = make_tests(findings.causes, *present, evidence);
    try {
      measure_programs(findings, *present, tests, [&](std::chrono::nanoseconds work) {
        return !time || measuring_.clock().steady() - began + work <= *time;
      });
    } catch (const db::Error&) {
      if (!measuring_.interrupted()) throw;
      return std::unexpected(measuring_.interruption_code());
    }
    return findings;
  }

 private:
  /// One for each candidate cause that can be set apart.
  std::vector<deploy::CauseTest> make_tests(std::vector<deploy::CandidateCause>& causes, const tuner::Prepared& present,
                                            const deploy::Evidence& evidence) {
    std::vector<deploy::CauseTest> tests;
    for (std::size_t i = 0; i < causes.size(); ++i) {
      deploy::CandidateCause& cause = causes[i];
      if (cause.apart == deploy::Apart::Program && !present.contained && !present.argv.empty()) {
        deploy::CauseTest test{.cause = i, .other = present};
        test.other.argv.front() = baseline_.program.string();
        test.other.artifact = baseline_.then.artifact;
        tests.push_back(std::move(test));
      } else if (cause.apart == deploy::Apart::Compiler) {
        say("building with " + evidence.old_compiler);
        space::Configuration by_old = spec_.space.default_configuration();
        by_old.set("compiler", evidence.old_compiler);
        auto built = session_.prepare(by_old);
        if (built) {
          tests.push_back({.cause = i, .other = *std::move(built)});
        } else {
          cause.apart = deploy::Apart::No;
          cause.why_not = "the compiler of then does not build it: " + built.error().reason;
        }
      } else if (cause.apart == deploy::Apart::Program) {
        cause.apart = deploy::Apart::No;
        cause.why_not = "it runs in a container, whose present image is the only one";
      }
    }
    return tests;
  }

  void measure_programs(BlameFindings& findings, const tuner::Prepared& present,
                        const std::vector<deploy::CauseTest>& tests,
                        std::function<bool(std::chrono::nanoseconds)> time_for) {
    auto record = deploy::BlameRecord::open(measuring_.store(), spec_, measuring_.fingerprint(), present.schedule,
                                            deploy::blamed_programs(present, tests, findings.causes));
    findings.kept = KeptEvidence{.database = measuring_.store().path(),
                                 .campaign = spec_.name,
                                 .generation = record.generation(),
                                 .runs_before = record.found()};
    if (record.found() > 0) {
      say(fmt::format("goes on with {} runs of the present program that an earlier session left", record.found()));
    }
    const auto times = deploy::measure_programs({.session = session_,
                                                 .record = record,
                                                 .present = present,
                                                 .policy = options_.policy,
                                                 .time_for = std::move(time_for)},
                                                tests, findings.causes);
    measuring_.display().clear();
    findings.change =
        deploy::whole_change(times, baseline_.estimate, spec_.run.process_sd, spec_.verify.margin_percent);
    record.close(!times.cut_short);
  }

  ExitCode cannot(const std::string& why) {
    if (measuring_.interrupted()) return measuring_.interruption_code();
    return complain(context_, ExitCode::Unavailable, "it could not be measured: " + why);
  }

  void say(const std::string& sentence) const {
    if (!context_.json) *context_.err << sentence << '\n' << std::flush;
  }

  const BlameOptions& options_;
  const Context& context_;
  MeasurementContext& measuring_;
  const deploy::BlameBaseline& baseline_;
  const tuner::CampaignSpec& spec_;
  std::unique_ptr<tuner::Executor> executor_;
  tuner::Session session_;
};

}  // namespace

void setup(CLI::App& subcommand, BlameOptions& options) {
  subcommand
      .add_option("what", options.what,
                  "A profile's JSON file, the name of a campaign that was exported, or of any campaign")
      ->type_name("PROFILE|CAMPAIGN")
      ->required();
  subcommand.add_option("--time", options.time, "No pair is begun that would end later: 20min, 1h")
      ->type_name("DURATION")
      ->check(time_span());
  add_pair_options(subcommand, options.policy);
  subcommand.add_flag(
      "--list", options.only_list,
      "Only say what changed; measure nothing. The present program is built, to be compared with the one of then");
  subcommand.footer(
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
  const auto time = time_limit(context, options.time);
  if (!time) return time.error();
  const auto baseline = find_baseline(options, context);
  if (!baseline) return baseline.error();
  const auto opened = MeasurementContext::open(context);
  if (!opened) return opened.error();
  MeasurementContext& measuring = **opened;
  const auto spec = measuring.parse(deploy::blame_campaign(baseline->result), "the configuration");
  if (!spec) return complain(context, ExitCode::Usage, spec.error());
  measuring.begin(verifications_database(context));
  const auto findings = BlameSession(options, context, measuring, *baseline, *spec).run(*time);
  if (!findings) return findings.error();
  const deploy::Blame blame = deploy::conclude(findings->causes, findings->change);
  if (context.json) {
    print_json(context, "blame",
               blame_json(baseline->result.name, findings->causes, findings->change, blame, findings->kept));
  } else {
    print_blame(context, findings->causes, findings->change, blame, findings->kept);
  }
  if (measuring.interrupted()) return measuring.interruption_code();
  return blame.told ? ExitCode::Ok : ExitCode::Negative;
}

}  // namespace nocturne::cli
