#include "tuner/cli/verbs/report.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "measure/machine/fingerprint.hpp"
#include "measure/machine/machine.hpp"
#include "measure/run/shell_words.hpp"
#include "tuner/campaign/finals/side_by_side.hpp"
#include "tuner/campaign/finals/whole_epochs.hpp"
#include "tuner/cli/choice/configuration_words.hpp"
#include "tuner/cli/choice/number_checks.hpp"
#include "tuner/cli/measuring/measurement_context.hpp"
#include "tuner/cli/output/claims_report.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/installation/installation.hpp"
#include "tuner/installation/invocation.hpp"

namespace nocturne::cli {
namespace {

/// The campaign of the commands that are suggested, where none was named.
constexpr const char* kPaperCampaign = "examples/paper-mnist-cpu.json";

struct Machine {
  measure::MachineFacts facts = measure::probe_machine({.onednn_prefix = tuner::find_installation().onednn_prefix});
  std::string key = measure::fingerprint_of(facts).key();
};

std::vector<report::Claim> claims_of_paper() {
  auto claims = report::read_claims(report::paper_claims_text());
  if (!claims) throw std::logic_error("paper_claims.json: " + claims.error());
  return std::move(*claims);
}

std::string command_for(const report::Claim& claim, const std::string& campaign) {
  const std::string file = campaign.empty() ? kPaperCampaign : campaign;
  if (claim.kind == report::ClaimKind::FirstEpoch) {
    return tuner::command_text({"report", "paper", "--measure", "--campaign", file});
  }
  return tuner::command_text("compare",
                             fmt::format("{} {} --campaign {} --measure", report::side_words(claim.reference),
                                         report::side_words(claim.candidate), measure::shell_quote(file)));
}

db::Expected<ClaimRow> row_of(const db::Store* store, const report::Claim& claim, const Machine& machine,
                              const std::string& campaign) {
  ClaimRow row{.claim = claim, .evidence = {}, .judgement = {}, .reason = {}, .command = {}};
  if (claim.device == "gpu" && machine.facts.gpus.empty()) {
    row.reason = "no GPU here";
    return row;
  }
  if (store != nullptr) {
    auto evidence = report::find_evidence(*store, claim, machine.key);
    if (!evidence) return std::unexpected(evidence.error());
    row.evidence = std::move(*evidence);
    auto failure = report::failure_of(*store, claim, machine.key);
    if (!failure) return std::unexpected(failure.error());
    row.reason = std::move(*failure);
  }
  if (row.evidence) {
    row.judgement = report::judge(claim.claimed_percent, row.evidence->low_percent, row.evidence->high_percent,
                                  row.evidence->grade != report::Grade::Trials);
  }
  if (!row.evidence && row.reason.empty()) row.reason = claim.needs;
  if (row.reason.empty() && (!row.evidence || row.evidence->grade == report::Grade::Trials)) {
    row.command = command_for(claim, campaign);
  }
  return row;
}

db::Expected<std::vector<ClaimRow>> rows_of(const db::Store* store, const Machine& machine,
                                            const std::string& campaign) {
  std::vector<ClaimRow> rows;
  for (const report::Claim& claim : claims_of_paper()) {
    auto row = row_of(store, claim, machine, campaign);
    if (!row) return std::unexpected(row.error());
    rows.push_back(std::move(*row));
  }
  return rows;
}

ExitCode print_rows(const Context& context, const std::vector<ClaimRow>& rows, const ReportOptions& options) {
  if (context.json) {
    print_json(context, "report", {{"claims", claims_report_json(rows)}});
  } else if (options.markdown) {
    *context.out << claims_markdown(rows);
  } else {
    print_claims_report(context, rows);
  }
  return std::ranges::any_of(rows, [](const ClaimRow& row) { return row.evidence.has_value(); }) ? ExitCode::Ok
                                                                                                 : ExitCode::NotFound;
}

/// Both sides in the space of a campaign, the rest as in its default; of whole epochs the default itself.
std::expected<std::vector<space::Configuration>, std::string> sides_in(const tuner::CampaignSpec& spec,
                                                                       const report::Claim& claim) {
  if (spec.workload.network != claim.network) {
    return std::unexpected(fmt::format("'{}' trains {}, not {}", spec.name, spec.workload.network, claim.network));
  }
  if (claim.kind == report::ClaimKind::FirstEpoch) return std::vector{spec.space.default_configuration()};
  std::vector<space::Configuration> sides;
  for (const space::Configuration* side : {&claim.reference, &claim.candidate}) {
    auto read =
        read_configuration(spec.space, spec.space.default_configuration(), report::side_words(*side, &spec.space));
    if (!read) return std::unexpected(fmt::format("not in '{}': {}", spec.name, read.error()));
    if (!report::is_side(claim, *side, *read)) {
      return std::unexpected(fmt::format("not in '{}': {}", spec.name, report::side_words(*side)));
    }
    sides.push_back(std::move(*read));
  }
  if (!report::differ_as_claimed(claim, sides[0], sides[1])) {
    return std::unexpected(fmt::format("in '{}' the two sides differ in more than the claim is about", spec.name));
  }
  return sides;
}

struct Missing {
  std::string id;
  std::vector<space::Configuration> sides;  ///< one: its whole epochs
};

/// Whether more measuring changes nothing. Undecided pairs may be few: time had ended them.
bool is_settled(const ClaimRow& row) {
  if (!row.evidence || row.evidence->grade == report::Grade::Trials) return false;
  return row.evidence->grade == report::Grade::Epochs || row.judgement.finding != report::Finding::Undecided;
}

/// What can be measured with this campaign; why the rest cannot is said in its row.
std::vector<Missing> missing_in(const tuner::CampaignSpec& spec, std::vector<ClaimRow>& rows) {
  std::vector<Missing> missing;
  for (ClaimRow& row : rows) {
    if (row.claim.device == "gpu" || is_settled(row)) continue;
    auto sides = sides_in(spec, row.claim);
    if (sides) missing.push_back({.id = row.claim.id, .sides = std::move(*sides)});
    if (!sides) row.reason = sides.error();
  }
  return missing;
}

db::Expected<void> measure_claim(tuner::Sitting sitting, const Missing& claim, int pairs,
                                 std::chrono::steady_clock::time_point end) {
  if (claim.sides.size() == 1) {
    const auto trained = tuner::train_whole_epochs(sitting, claim.sides.front(), {.end = end});
    return trained ? db::Expected<void>() : std::unexpected(trained.error());
  }
  const auto measured = tuner::SideBySide(sitting).run(claim.sides, {.policy = {.pairs = pairs}, .end = end});
  return measured ? db::Expected<void>() : std::unexpected(measured.error());
}

ExitCode measure_and_report(const ReportOptions& options, Context& context) {
  const auto time = tuner::parse_duration(options.time);
  if (!time) return complain(context, ExitCode::Usage, "--time: " + time.error());
  const auto opened = MeasurementContext::open(context);
  if (!opened) return opened.error();
  MeasurementContext& measuring = **opened;
  const Machine machine{.facts = measuring.machine()};
  const space::Facts facts = measuring.facts();
  if (const auto begun = measuring.begin(context.database()); !begun) return begun.error();
  const db::Store& store = measuring.store();
  auto source = find_campaign_source(context, &store, options.source, facts);
  if (!source) return source.error();
  if (const auto read = read_spec(context, *source, facts); !read) return read.error();
  auto rows = rows_of(&store, machine, options.source.campaign);
  if (!rows) return complain(context, rows.error());
  std::vector<Missing> missing = missing_in(*source->spec, *rows);

  std::vector<std::pair<std::string, std::string>> reasons;  // of claims that this campaign cannot measure
  for (const ClaimRow& row : *rows) {
    if (!row.reason.empty()) reasons.emplace_back(row.claim.id, row.reason);
  }
  measuring.measure_as_noise_says(*source->spec);
  const auto executor = measuring.make_executor(*source->spec);
  const auto end = measuring.clock().steady() + *time;
  for (std::size_t i = 0; i < missing.size() && !measuring.interrupted(); ++i) {
    if (!context.json) *context.err << fmt::format("claim {}\n", missing[i].id);
    // What one claim does not need is there for the next ones.
    const auto now = measuring.clock().steady();
    const auto share = (end - now) / static_cast<std::int64_t>(missing.size() - i);
    const auto done = measure_claim(measuring.make_sitting(*source->spec, *executor), missing[i], options.pairs,
                                    now + share);
    measuring.display().clear();
    if (!done) {
      return done.error().code == db::ErrorCode::Owned ? complain(context, ExitCode::Unavailable, done.error().message)
                                                       : complain(context, done.error());
    }
  }
  rows = rows_of(&store, machine, options.source.campaign);
  if (!rows) return complain(context, rows.error());
  for (ClaimRow& row : *rows) {
    const auto known = std::ranges::find(reasons, row.claim.id, &std::pair<std::string, std::string>::first);
    if (known == reasons.end() || !row.reason.empty() || row.command.empty()) continue;
    row.reason = known->second;
    row.command.clear();
  }
  const ExitCode code = print_rows(context, *rows, options);
  return measuring.interrupted() ? measuring.interruption_code() : code;
}

ExitCode report_stored(const ReportOptions& options, Context& context) {
  std::optional<db::Store> store;
  std::error_code ignored;
  if (std::filesystem::exists(context.database(), ignored)) {
    auto opened = open_database(context);
    if (!opened) return opened.error();
    store = std::move(*opened);
  }
  const Machine machine;
  const auto rows = rows_of(store ? &*store : nullptr, machine, options.source.campaign);
  if (!rows) return complain(context, rows.error());
  return print_rows(context, *rows, options);
}

}  // namespace

void setup(CLI::App& verb, ReportOptions& options) {
  verb.add_option("what", options.what, "paper: the claims of the paper that Nocturne takes up")
      ->type_name("WHAT")
      ->required()
      ->check(CLI::IsMember({"paper"}).description(""));
  verb.add_flag("--measure", options.measure, "Measure what is missing, in turns, with the campaign of --campaign");
  verb.add_option("--time", options.time, "For all measurements together (default: 30min)")
      ->type_name("DURATION")
      ->check(time_span());
  verb.add_option("--pairs", options.pairs, "Pairs of each claim before the first look (default: 6)")
      ->type_name("N")
      ->check(whole_number(2, 1000));
  add_campaign_source(verb, options.source);
  verb.add_flag("--markdown", options.markdown, "A table to paste into a README");
  verb.footer(
      "Each claim (arXiv 2008.11675) with the interval that this machine's database gives. It is confirmed or "
      "reversed\n"
      "where the whole interval lies on one side of 0, else undecided; the claimed size lies inside the interval or "
      "not.\n"
      "Only pairs that were alive together decide; trials that were measured one after the other are shown as 'not\n"
      "interleaved' and leave a claim undecided. What was never measured names the command that would measure it, or "
      "why\n"
      "it cannot be measured here. Exit code 3: nothing speaks for or against any claim yet.\n"
      "\n"
      "Examples:\n"
      "  nocturne report paper\n"
      "  nocturne report paper --markdown > claims.md\n"
      "  nocturne report paper --measure --time 30min --campaign examples/paper-mnist-cpu.json\n");
}

ExitCode run(const ReportOptions& options, Context& context) {
  if (options.markdown && context.json) return complain(context, ExitCode::Usage, "--markdown or --json, not both");
  return options.measure ? measure_and_report(options, context) : report_stored(options, context);
}

}  // namespace nocturne::cli
