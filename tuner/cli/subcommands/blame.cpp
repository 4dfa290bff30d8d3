// `nocturne blame`: what changed since a profile or a campaign was measured, and what of it made it slower.

#include "tuner/cli/subcommand.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "measure/comparison/planned_looks.hpp"
#include "space/fingerprint.hpp"
#include "tuner/campaign/answer/answer.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/choice/profile_choice.hpp"
#include "tuner/cli/choice/value_option.hpp"
#include "tuner/cli/measuring/measurement_context.hpp"
#include "tuner/cli/output/format.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/cli/output/layout.hpp"
#include "tuner/cli/output/table.hpp"
#include "tuner/deploy/blame.hpp"
#include "tuner/deploy/blame_baseline.hpp"
#include "tuner/deploy/blame_record.hpp"
#include "tuner/deploy/shell_quote.hpp"
#include "tuner/installation/invocation.hpp"

namespace nocturne::cli {
namespace {

struct BlameOptions {
  std::string what;  ///< a profile's file, the name of a campaign that was exported, or of any campaign
  std::string time;  ///< no pair is begun that would end later; empty: as long as it takes
  measure::ComparisonPolicy policy;
  bool only_list = false;
};

/// Where what was measured can be looked at.
struct KeptEvidence {
  std::filesystem::path database;
  std::string campaign;
  std::int64_t generation = 1;
  std::int64_t runs_before = 0;  ///< runs of the present program from a session that did not come to its end
};

std::string found_text(const deploy::CandidateCause& cause) {
  if (cause.measured && cause.measured->pairs >= 2) {
    return fmt::format("{:+.1f} % ({:+.1f} to {:+.1f} %, {} pairs)", cause.measured->gain_percent,
                       cause.measured->low_percent, cause.measured->high_percent, cause.measured->pairs);
  }
  if (cause.apart == deploy::Apart::Together) return "measured with the program";
  return cause.why_not.empty() ? "not measured" : "not measured: " + cause.why_not;
}

std::string apart_text(deploy::Apart apart) {
  switch (apart) {
    case deploy::Apart::Program:
      return "program";
    case deploy::Apart::Compiler:
      return "compiler";
    case deploy::Apart::Together:
      return "together";
    case deploy::Apart::No:
      break;
  }
  return "no";
}

/// `kept`: empty where nothing was measured.
void print_blame(const Context& context, const std::vector<deploy::CandidateCause>& causes,
                 const std::optional<deploy::WholeChange>& change, const deploy::Blame& blame,
                 const std::optional<KeptEvidence>& kept) {
  std::ostream& out = *context.out;
  if (!causes.empty()) {
    Table table({{"changed"}, {"then"}, {"now"}, {"the present one gains"}});
    for (const deploy::CandidateCause& each : causes) {
      const bool is_culprit = std::ranges::find(blame.culprits, each.name) != blame.culprits.end();
      table.add({Cell(each.name), Cell(each.before.empty() ? "–" : each.before),
                 Cell(each.now.empty() ? "–" : each.now),
                 Cell(found_text(each), is_culprit ? Style::Warning : Style::Plain)});
    }
    table.print(context);
  }
  if (change) {
    out << fmt::format("It takes {:+.1f} % against then; between-process spread explains {:.1f} %.\n",
                       100 * std::expm1(change->log_ratio), 100 * std::expm1(change->explained));
  }
  std::string sentence = blame.sentence;
  if (!sentence.empty() && sentence.front() >= 'a' && sentence.front() <= 'z')
    sentence.front() = static_cast<char>(sentence.front() - 'a' + 'A');
  out << printable(sentence) << ".\n";
  if (kept) {
    print_command(context, "Kept",
                  tuner::command_text("list", fmt::format("comparisons {} --db {}", deploy::shell_quote(kept->campaign),
                                                          tuner::file_word(kept->database))));
  }
}

nlohmann::json blame_json(const std::string& name, const std::vector<deploy::CandidateCause>& causes,
                          const std::optional<deploy::WholeChange>& change, const deploy::Blame& blame,
                          const std::optional<KeptEvidence>& kept) {
  auto list = nlohmann::json::array();
  for (const deploy::CandidateCause& each : causes) {
    nlohmann::json entry = {{"name", each.name},
                            {"then", each.before},
                            {"now", each.now},
                            {"match", space::to_text(each.match)},
                            {"apart", apart_text(each.apart)},
                            {"why_not", each.why_not},
                            {"gain_percent", nullptr}};
    if (each.measured && each.measured->pairs >= 2) {
      entry["gain_percent"] = each.measured->gain_percent;
      entry["low_percent"] = each.measured->low_percent;
      entry["high_percent"] = each.measured->high_percent;
      entry["pairs"] = each.measured->pairs;
    }
    list.push_back(std::move(entry));
  }
  nlohmann::json document = {{"what", name},
                             {"candidate_causes", std::move(list)},
                             {"told", blame.told},
                             {"culprits", blame.culprits},
                             {"sentence", blame.sentence},
                             {"change_percent", nullptr},
                             {"kept", nullptr}};
  if (kept) {
    document["kept"] = {{"database", kept->database.string()},
                        {"campaign", kept->campaign},
                        {"generation", kept->generation},
                        {"runs_before", kept->runs_before}};
  }
  if (change) {
    document["change_percent"] = 100 * std::expm1(change->log_ratio);
    document["explained_percent"] = 100 * std::expm1(change->explained);
  }
  return document;
}

namespace fs = std::filesystem;

/// What the word means. Throws Refusal.
deploy::BlameBaseline find_baseline(const BlameOptions& options, const Context& context) {
  std::error_code ignored;
  const fs::path file = profile_file(options.what, context);
  const bool has_database = fs::exists(context.database(), ignored);
  if (fs::is_regular_file(file, ignored)) {
    const auto profile = open_profile(options.what, context);
    // A profile from another machine comes without its database.
    std::optional<db::Store> store;
    try {
      if (has_database) store = db::Store::open(context.database(), db::Mode::ReadOnly);
    } catch (const db::Error&) {
      // The profile says enough.
    }
    return deploy::blame_baseline(profile, store ? &*store : nullptr);
  }
  const auto [store, campaign] = open_campaign(context, {.name = options.what});
  const auto answer = tuner::answer_of(store, campaign);
  return value_or_refuse(context, ExitCode::NotFound, deploy::blame_baseline(answer, store));
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

  BlameFindings run(const std::optional<std::chrono::nanoseconds>& time) {
    const auto began = measuring_.clock().steady();
    say("preparing the present program");
    const auto present = session_.prepare(spec_.space.default_configuration());
    if (!present) refuse_to_measure(present.error().reason);
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
      // An interruption can reach the database in the midst of a write; it is still an interruption.
      if (!measuring_.interrupted()) throw;
      throw Refusal{measuring_.interruption_code()};
    }
    return findings;
  }

 private:
  /// One for each candidate cause that can be set apart.
  std::vector<deploy::CauseTest> make_tests(std::vector<deploy::CandidateCause>& causes,
                                            const tuner::PreparedWorker& present, const deploy::Evidence& evidence) {
    std::vector<deploy::CauseTest> tests;
    for (std::size_t i = 0; i < causes.size(); ++i) {
      deploy::CandidateCause& cause = causes[i];
      // The old program in the place of the new one, all else as it is now: that is what makes it a test of this cause.
      if (cause.apart == deploy::Apart::Program && !present.contained && !present.argv.empty()) {
        deploy::CauseTest test{.cause = i, .other = present};
        test.other.argv.front() = baseline_.program.string();
        test.other.artifact = baseline_.then.artifact;
        tests.push_back(std::move(test));
      } else if (cause.apart == deploy::Apart::Compiler) {
        say("building with " + evidence.old_compiler);
        space::Configuration by_old = spec_.space.default_configuration();
        // The present sources, so that only the compiler differs.
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

  void measure_programs(BlameFindings& findings, const tuner::PreparedWorker& present,
                        const std::vector<deploy::CauseTest>& tests,
                        std::function<bool(std::chrono::nanoseconds)> time_for) {
    auto record = deploy::BlameRecord::open(measuring_.store(), spec_, measuring_.fingerprint(), present.schedule,
                                            deploy::blamed_programs(present, tests, findings.causes));
    findings.kept = KeptEvidence{.database = measuring_.store().path(),
                                 .campaign = spec_.name,
                                 .generation = record.generation(),
                                 .runs_before = record.found()};
    if (record.found() > 0)
      say(fmt::format("goes on with {} runs of the present program that an earlier session left", record.found()));
    const auto times = deploy::measure_programs({.session = session_,
                                                 .record = record,
                                                 .present = present,
                                                 .policy = options_.policy,
                                                 .time_for = std::move(time_for)},
                                                tests, findings.causes);
    measuring_.display().clear();
    findings.change =
        deploy::whole_change(times, baseline_.estimate, spec_.run.process_sd, spec_.verify.margin_percent);
    // One that was cut short stays open, and the same call goes on with it.
    record.close(!times.cut_short);
  }

  [[noreturn]] void refuse_to_measure(const std::string& why) {
    if (measuring_.interrupted()) throw Refusal{measuring_.interruption_code()};
    refuse(context_, ExitCode::Unavailable, "it could not be measured: " + why);
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

void setup(CLI::App& subcommand, BlameOptions& options) {
  add_value(subcommand, "what", options.what, "PROFILE|CAMPAIGN",
            "A profile's JSON file, the name of a campaign that was exported, or of any campaign")
      ->required();
  add_value(subcommand, "--time", options.time, "DURATION", "No pair is begun that would end later: 20min, 1h",
            time_span());
  add_pair_options(subcommand, options.policy);
  subcommand.add_flag(
      "--list", options.only_list,
      "Only say what changed; measure nothing. The present program is built, to be compared with the one of then");
  subcommand.footer(
      "After an upgrade: compares machine and program of then with the present ones, field by field, and says what\n"
      "changed. What can be set apart here is measured, the present one against the one of then, both alive and in\n"
      "turns: the old build or environment while it is still stored, the present sources by the compiler of then\n"
      "while that is installed. Kernel, microcode and driver are one at a time: they are named, and that it cannot be\n"
      "told is said.\n"
      "\n"
      "Exit code 0: there is an answer (a culprit, or nothing became slower), 1: it cannot be told, 5: it could not\n"
      "be measured. What was measured is kept in verifications.db of the data folder, as the campaign blame-NAME; the\n"
      "same call goes on where it was interrupted, killed, or out of time.\n"
      "\n"
      "Examples:\n"
      "  nocturne blame mnist-evening\n"
      "  nocturne blame /etc/nocturne/train.json --time 20min\n"
      "  nocturne blame mnist-evening --list --json\n"
      "  nocturne --db ~/.local/share/nocturne/verifications.db list comparisons blame-mnist-evening\n");
}

/// Ok: there is an answer. Negative: it cannot be told. Usage (2): it could not be measured.
ExitCode run(const BlameOptions& options, Context& context) {
  const auto time = time_limit(context, options.time);
  const auto baseline = find_baseline(options, context);
  MeasurementContext measuring(context);
  const auto spec = value_or_refuse(context, ExitCode::Usage,
                                    measuring.parse(deploy::blame_campaign(baseline.result), "the configuration"));
  measuring.begin(verifications_database(context));
  const auto findings = BlameSession(options, context, measuring, baseline, spec).run(time);
  const deploy::Blame blame = deploy::conclude(findings.causes, findings.change);
  if (context.json) {
    print_json(context, "blame",
               blame_json(baseline.result.name, findings.causes, findings.change, blame, findings.kept));
  } else {
    print_blame(context, findings.causes, findings.change, blame, findings.kept);
  }
  if (measuring.interrupted()) return measuring.interruption_code();
  return blame.told ? ExitCode::Ok : ExitCode::Negative;
}

}  // namespace

SubcommandAction add_blame(CLI::App& subcommand) {
  return add_options<BlameOptions>(subcommand);
}

}  // namespace nocturne::cli
