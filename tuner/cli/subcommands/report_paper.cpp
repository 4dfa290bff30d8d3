// `nocturne report paper`: what the paper published results, and what this machine says to it.

#include "tuner/cli/subcommands/report.hpp"

#include <algorithm>
#include <chrono>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "measure/machine/fingerprint.hpp"
#include "measure/machine/machine.hpp"
#include "measure/run/shell_words.hpp"
#include "space/write_file.hpp"
#include "tuner/campaign/finals/side_by_side.hpp"
#include "tuner/campaign/finals/whole_epochs.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/choice/configuration_words.hpp"
#include "tuner/cli/measuring/campaign_source.hpp"
#include "tuner/cli/measuring/measurement_context.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/cli/output/published_results_report.hpp"
#include "tuner/installation/installation.hpp"
#include "tuner/installation/invocation.hpp"
#include "tuner/report/published_picture.hpp"

namespace nocturne::cli {
namespace {

/// The campaign of the commands that are suggested, where none was named.
constexpr const char* kPaperCampaign = "examples/paper-mnist-cpu.json";
constexpr const char* kTodaysCampaign = "examples/modern-mnist-cpu.json";

/// What it is, and what the frameworks that it knows are labelled with.
struct Machine {
  measure::MachineFacts facts;
  report::FrameworkLabels frameworks;
  std::string key = measure::fingerprint_of(facts).key();
};

std::vector<report::PublishedResult> published_results_of_the_paper() {
  auto published_results = report::read_published_results(report::published_results_of_paper_text());
  if (!published_results) throw std::logic_error("published_results_of_paper.json: " + published_results.error());
  return std::move(*published_results);
}

std::string command_for(const report::PublishedResult& published, const Machine& machine, const std::string& campaign) {
  const std::string shipped = published.campaign.empty() ? kPaperCampaign : published.campaign;
  const std::string file = campaign.empty() ? shipped : campaign;
  if (report::is_of_epochs(published.kind))
    return tuner::command_text({"report", "paper", "--measure", "--campaign", file});
  const auto compare_in = [&](const std::string& each) {
    return tuner::command_text(
        "compare",
        fmt::format("{} {} --campaign {} --measure", report::side_words(published.reference, machine.frameworks),
                    report::side_words(published.candidate, machine.frameworks), measure::shell_quote(each)));
  };
  // One of each network.
  if (published.kind == report::PublishedKind::Interaction)
    return compare_in(shipped) + " && " + compare_in(published.today ? kTodaysCampaign : kPaperCampaign);
  return compare_in(file);
}

/// Why nothing on this machine can measure it, a sentence; empty: nothing is known against it.
std::string obstacle_to(const report::PublishedResult& published, const Machine& machine) {
  if (published.device == "gpu" && machine.facts.gpus.empty()) return "no GPU here";
  for (const report::PublishedSide* side : {&published.reference, &published.candidate}) {
    const bool is_named = !side->framework.empty() || !side->source.empty();
    if (is_named && report::framework_of(*side, machine.frameworks).empty())
      return fmt::format("no recipe here is labelled {}; one of your own may be", side->text());
  }
  return {};
}

PublishedResultRow row_of(const db::Store* store, const report::PublishedResult& published, const Machine& machine,
                          const std::string& campaign) {
  PublishedResultRow row{.published = published, .evidence = {}, .judgement = {}, .reason = {}};
  if (store != nullptr) {
    row.evidence = report::find_evidence(*store, published, machine.key, machine.frameworks);
    row.reason = report::failure_of(*store, published, machine.key, machine.frameworks);
  }
  if (row.evidence) {
    row.judgement = report::judge(published, row.evidence->low_percent, row.evidence->high_percent,
                                  row.evidence->grade != report::Grade::Trials);
  } else if (std::string obstacle = obstacle_to(published, machine); !obstacle.empty()) {
    row.judgement.finding = report::ReplicationOutcome::NotMeasurable;
    row.reason = std::move(obstacle);
    row.elsewhere = true;
    row.command = command_for(published, machine, {});
  }
  if (!row.evidence && row.reason.empty()) row.reason = published.needs;
  if (row.reason.empty() && (!row.evidence || row.evidence->grade == report::Grade::Trials))
    row.command = command_for(published, machine, campaign);
  return row;
}

std::vector<PublishedResultRow> rows_of(const db::Store* store, const Machine& machine, const std::string& campaign) {
  std::vector<PublishedResultRow> rows;
  for (const report::PublishedResult& published : published_results_of_the_paper())
    rows.push_back(row_of(store, published, machine, campaign));
  return rows;
}

void write_picture(const Context& context, const std::vector<PublishedResultRow>& rows, const std::string& file) {
  std::vector<report::PicturedResult> results;
  for (const PublishedResultRow& row : rows) results.push_back({.published = row.published, .evidence = row.evidence});
  const std::string text = report::published_picture(results);
  if (file == "-")
    context.verbatim() << text;
  else if (auto written = space::write_file(file, text); !written)
    refuse(context, ExitCode::OutputFailed, written.error());
}

ExitCode print_rows(const Context& context, const std::vector<PublishedResultRow>& rows, const ReportOptions& options) {
  if (!options.picture.empty()) write_picture(context, rows, options.picture);
  if (options.picture == "-") {
    // The picture is the answer.
  } else if (context.json)
    print_json(context, "report", {{"results", published_results_json(rows)}});
  else if (options.markdown)
    context.verbatim() << published_results_markdown(rows);  // a row is a line
  else
    print_published_results(context, rows);
  return std::ranges::any_of(rows, [](const PublishedResultRow& row) { return row.evidence.has_value(); })
             ? ExitCode::Ok
             : ExitCode::NotFound;
}

/// Both sides in the space of a campaign, the rest as in its default; of whole epochs the default itself.
std::expected<std::vector<space::Configuration>, std::string> sides_in(const tuner::CampaignSpec& spec,
                                                                       const report::PublishedResult& published,
                                                                       const report::FrameworkLabels& known) {
  if (spec.workload.network != published.network && spec.workload.network != published.other_network)
    return std::unexpected(fmt::format("'{}' trains {}, not {}", spec.name, spec.workload.network, published.network));
  if (report::is_of_epochs(published.kind)) return std::vector{spec.space.default_configuration()};
  std::vector<space::Configuration> sides;
  for (const report::PublishedSide* side : {&published.reference, &published.candidate}) {
    const std::string words = report::side_words(*side, known, &spec.space);
    auto read = read_configuration(spec.space, spec.space.default_configuration(), words);
    if (!read) return std::unexpected(fmt::format("not in '{}': {}", spec.name, read.error()));
    if (!report::is_side(published, *side, *read, known))
      return std::unexpected(fmt::format("not in '{}': {}", spec.name, words));
    sides.push_back(std::move(*read));
  }
  if (!report::differ_as_published(published, sides[0], sides[1], known)) {
    return std::unexpected(
        fmt::format("in '{}' the two sides differ in more than the published result is about", spec.name));
  }
  return sides;
}

struct Missing {
  report::PublishedResult published;
  std::vector<space::Configuration> sides;  ///< one: its whole epochs
};

/// Whether more measuring changes nothing. Undecided pairs may be few: time had ended them.
bool is_settled(const PublishedResultRow& row) {
  if (!row.evidence || row.evidence->grade == report::Grade::Trials) return false;
  return row.evidence->grade == report::Grade::Epochs || row.judgement.finding != report::ReplicationOutcome::Undecided;
}

/// What can be measured with this campaign; why the rest cannot is said in its row.
std::vector<Missing> missing_in(const tuner::CampaignSpec& spec, std::vector<PublishedResultRow>& rows,
                                const report::FrameworkLabels& known) {
  std::vector<Missing> missing;
  for (PublishedResultRow& row : rows) {
    if (row.elsewhere || is_settled(row)) continue;
    auto sides = sides_in(spec, row.published, known);
    if (!sides) {
      row.reason = sides.error();
      continue;
    }
    // One training of whole epochs answers all that is asked of them.
    const auto of_epochs = [](const Missing& each) { return each.sides.size() == 1; };
    if (sides->size() == 1 && std::ranges::any_of(missing, of_epochs)) continue;
    missing.push_back({.published = row.published, .sides = std::move(*sides)});
  }
  return missing;
}

void measure_published_result(tuner::Session session, const Missing& missing, int pairs,
                              std::chrono::steady_clock::time_point end) {
  if (missing.sides.size() == 1)
    (void)tuner::train_whole_epochs(session, missing.sides.front(), {.end = end});
  else
    (void)tuner::SideBySide(session).run(missing.sides, {.policy = {.pairs = pairs}, .end = end});
}

ExitCode measure_and_report(const ReportOptions& options, Context& context) {
  const auto time = value_or_refuse(context, ExitCode::Usage, tuner::parse_duration(options.time), "--time: ");
  MeasurementContext measuring(context);
  const Machine machine{.facts = measuring.machine(), .frameworks = report::framework_labels(measuring.frameworks())};
  const space::Facts facts = measuring.facts();
  measuring.begin(context.database());
  const db::Store& store = measuring.store();
  auto source = find_campaign_source(context, &store, options.source, facts);
  read_spec(context, source, facts);
  auto rows = rows_of(&store, machine, options.source.campaign);
  std::vector<Missing> missing = missing_in(*source.spec, rows, machine.frameworks);

  std::vector<std::pair<std::string, std::string>> reasons;  // of published results that this campaign cannot measure
  for (const PublishedResultRow& row : rows)
    if (!row.reason.empty()) reasons.emplace_back(row.published.id, row.reason);
  measuring.measure_as_noise_says(*source.spec);
  const auto executor = measuring.make_executor(*source.spec);
  const auto end = measuring.clock().steady() + time;
  for (std::size_t i = 0; i < missing.size() && !measuring.interrupted(); ++i) {
    const report::PublishedResult& published = missing[i].published;
    if (!context.json) *context.err << fmt::format("published result {}\n", published.id);
    // What one published result does not need is there for the next ones.
    const auto now = measuring.clock().steady();
    const auto share = (end - now) / static_cast<std::int64_t>(missing.size() - i);
    measure_published_result(measuring.make_session(*source.spec, *executor), missing[i], options.pairs, now + share);
    measuring.display().clear();
  }
  rows = rows_of(&store, machine, options.source.campaign);
  for (PublishedResultRow& row : rows) {
    const auto known = std::ranges::find(reasons, row.published.id, &std::pair<std::string, std::string>::first);
    if (known == reasons.end() || !row.reason.empty() || row.command.empty() || row.elsewhere) continue;
    row.reason = known->second;
    row.command.clear();
  }
  const ExitCode code = print_rows(context, rows, options);
  return measuring.interrupted() ? measuring.interruption_code() : code;
}

ExitCode report_stored(const ReportOptions& options, Context& context) {
  const auto store = open_known_database(context);
  const tuner::Installation installation = tuner::find_installation();
  const Machine machine{.facts = measure::probe_machine(installation.machine_roots()),
                        .frameworks = report::framework_labels(*frameworks_here(context, installation))};
  const auto rows = rows_of(store ? &*store : nullptr, machine, options.source.campaign);
  return print_rows(context, rows, options);
}

}  // namespace

ExitCode report_paper(const ReportOptions& options, Context& context) {
  if (options.markdown && context.json) return complain(context, ExitCode::Usage, "--markdown or --json, not both");
  if (options.picture == "-" && (options.markdown || context.json))
    return complain(context, ExitCode::Usage, "--picture - alone, or into a file");
  return options.measure ? measure_and_report(options, context) : report_stored(options, context);
}

}  // namespace nocturne::cli
