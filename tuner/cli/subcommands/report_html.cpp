// `nocturne report html [CAMPAIGN [OTHER]]`: the page of a campaign, or of two side by side, into a file.

#include <filesystem>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/output/html_report.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/cli/subcommands/report.hpp"
#include "tuner/installation/invocation.hpp"

namespace nocturne::cli {
namespace {

/// One name twice: the generation before the last, and the last.
std::vector<db::CampaignSummary> chosen(const ReportOptions& options, const Context& context, const db::Store& store) {
  const auto& names = options.campaigns;
  if (names.size() < 2) {
    const std::string& name = names.empty() ? options.source.campaign : names.front();
    return {choose_campaign(context, store, {.name = name, .generation = options.source.generation})};
  }
  const auto last = choose_campaign(context, store, {.name = names[1]});
  if (names[0] != names[1]) return {choose_campaign(context, store, {.name = names[0]}), last};
  if (last.generation < 2) refuse(context, ExitCode::NotFound, fmt::format("'{}' has one generation only", last.name));
  return {choose_campaign(context, store, {.name = names[0], .generation = last.generation - 1}), last};
}

}  // namespace

ExitCode report_html(const ReportOptions& options, const Context& context) {
  const auto store = open_database(context);
  const auto campaigns = chosen(options, context, store);
  std::vector<HtmlReport> reports;
  for (const db::CampaignSummary& campaign : campaigns) {
    require_times(context, campaign);
    HtmlReport report{.answer = tuner::answer_of(store, campaign), .running = campaign.owner_pid.has_value()};
    if (!report.running) report.expectations = tuner::expectations_of(store, report.answer);
    reports.push_back(std::move(report));
  }
  if (options.output == "-") {
    context.verbatim() << html_text(context, store, std::move(reports), options.with_names);
    return ExitCode::Ok;
  }
  const std::filesystem::path file =
      options.output.empty() ? html_file(context, campaigns.back()) : std::filesystem::path(options.output);
  const auto bytes = value_or_refuse(context, ExitCode::OutputFailed,
                                     write_html(context, store, std::move(reports), file, options.with_names));
  if (context.json)
    print_json(context, "report-html", {{"file", file.string()}, {"bytes", bytes}});
  else
    *context.out << "Report    " << tuner::file_word(file) << '\n';
  return ExitCode::Ok;
}

}  // namespace nocturne::cli
