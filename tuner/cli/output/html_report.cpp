#include "tuner/cli/output/html_report.hpp"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "db/process_identity.hpp"
#include "measure/run/shell_words.hpp"
#include "space/write_file.hpp"
#include "tuner/campaign/heartbeat/heartbeat.hpp"
#include "tuner/campaign/stored_document.hpp"
#include "tuner/campaign/unix_time.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/choice/profile_choice.hpp"
#include "tuner/cli/output/answer_page.hpp"
#include "tuner/cli/output/expectation_lines.hpp"
#include "tuner/cli/output/format.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/cli/output/rows.hpp"
#include "tuner/installation/invocation.hpp"
#include "tuner/installation/version.hpp"
#include "tuner/report/html/report_data.hpp"
#include "tuner/report/html/trials_document.hpp"

namespace nocturne::cli {
namespace {

using nlohmann::json;

/// Whom the texts of a campaign may name: who reads the database now, and on which machine it was filled.
report::Names names_in(const Context& context, std::span<const report::ReportData> all, const db::Store& store) {
  report::Names names;
  for (const char* variable : {"USER", "LOGNAME", "SUDO_USER"})
    if (auto user = context.variable(variable)) names.users.push_back(*std::move(user));
  if (const ::passwd* entry = ::getpwuid(::getuid())) names.users.emplace_back(entry->pw_name);
  names.home = context.variable("HOME").value_or("");
  names.hosts.push_back(db::this_process().host);
  for (const report::ReportData& data : all) {
    if (const auto found = data.machine.find("system.host"); found != data.machine.end())
      names.hosts.push_back(found->second);
    const auto file = tuner::heartbeat_file(store.path(), data.answer.campaign.id);
    if (const auto heartbeat = tuner::read_heartbeat(file)) names.hosts.push_back(heartbeat->process.host);
    for (const auto& parameter : tuner::parameters_of(data.answer.campaign.spec))
      names.parameters.insert(parameter.name);
  }
  return names;
}

std::vector<report::ShellLine> lines_to_run(const Context& context, const report::ReportData& data) {
  const db::CampaignSummary& campaign = data.answer.campaign;
  const std::string name = measure::shell_quote(campaign.name);
  if (data.moment.running)
    return {{.what = "See what it is doing now", .line = tuner::command_text("status", words_for(campaign))}};
  std::error_code ignored;
  const bool exported = std::filesystem::exists(profile_file(campaign.name, context), ignored);
  if (data.answer.verified_faster() && exported) {
    const bool own = tuner::tunes_own_command(campaign.spec);
    return {{.what = own ? "Run your command as it was measured" : "Run a command of your own with these settings",
             .line = tuner::command_text("apply", own ? name : name + " -- COMMAND")},
            {.what = "Is it still so today?", .line = tuner::command_text("verify", name)}};
  }
  if (data.answer.verified_faster())
    return {{.what = "Write it down for a deployment", .line = tuner::command_text("export", words_for(campaign))}};
  if (!campaign.finished_unix_ns) return {{.what = "Go on", .line = tuner::tune_command(campaign.spec)}};
  if (!data.answer.best) {
    return {{.what = "See the failures one by one",
             .line = tuner::command_text("list", fmt::format("trials {} --outcome failed", words_for(campaign)))}};
  }
  return {
      {.what = "See everything that is known of the best",
       .line = tuner::command_text("show", fmt::format("{} {}", data.answer.best->trial.number, words_for(campaign)))}};
}

std::string verdict_of(const tuner::Answer& answer) {
  std::string sentence = gain_sentence(answer);
  if (sentence.empty()) return sentence;
  if (answer.verdict) sentence = "The best is " + sentence;
  sentence.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(sentence.front())));
  sentence += ".";
  if (answer.compared) sentence += " It is " + compared_sentence(answer) + ".";
  return sentence;
}

std::string state_of(const db::CampaignSummary& campaign, const report::Moment& moment) {
  if (moment.running)
    return fmt::format(
        "Running; as it was at {}. This page loads itself again; if that was long ago, the campaign may have ended "
        "since",
        time_text(moment.now_unix_ns));
  if (campaign.finished_unix_ns) return "Finished " + time_text(*campaign.finished_unix_ns);
  return "Not finished; nobody tunes it now";
}

std::vector<json> documents_of(const report::ReportData& data) {
  json best = answer_json(data.answer);
  add_expectations(best, data.expectations);
  const TrialNumbers numbers = numbers_of(data.trials);
  const auto compared = [&](const db::StoredComparison& each) { return comparison_row(each, numbers); };
  return {named_document("best", std::move(best)), named_document("report-trials", report::trials_document(data)),
          named_document("list-comparisons", {{"comparisons", json_list(data.comparisons, compared)}}),
          named_document("list-events", {{"events", json_list(data.events, event_row)}})};
}

std::string name_of(const db::CampaignSummary& campaign) {
  return fmt::format("{}, generation {}", campaign.name, campaign.generation);
}

report::Page page_of(const Context& context, const report::ReportData& data) {
  return {.title = name_of(data.answer.campaign),
          .state = state_of(data.answer.campaign, data.moment),
          .running = data.moment.running,
          .facts = report::page_facts(data),
          .headline = {.verdict = verdict_of(data.answer),
                       .proven = data.answer.verified_faster(),
                       .run = lines_to_run(context, data),
                       .wrong = report::what_went_wrong(data)},
          .sections = report::page_sections(data),
          .documents = documents_of(data)};
}

/// What each page says, under its campaign's name.
report::Page joined(std::vector<report::Page> pages, std::span<const report::ReportData> all) {
  report::Page whole{.title = "", .state = "", .headline = {.verdict = "", .proven = true}};
  std::vector<std::string> names;
  for (report::Page& page : pages) {
    whole.title += (whole.title.empty() ? "" : " beside ") + page.title;
    whole.state += fmt::format("{}{}: {}", whole.state.empty() ? "" : ". ", page.title, page.state);
    whole.running = whole.running || page.running;
    for (const report::PageFact& fact : page.facts)
      whole.facts.push_back({.name = page.title + ": " + fact.name, .value = fact.value});
    whole.headline.verdict +=
        fmt::format("{}{}: {}", whole.headline.verdict.empty() ? "" : " ", page.title, page.headline.verdict);
    whole.headline.proven = whole.headline.proven && page.headline.proven;
    for (const report::ShellLine& line : page.headline.run)
      whole.headline.run.push_back({.what = page.title + ": " + line.what, .line = line.line});
    for (const std::string& sentence : page.headline.wrong)
      whole.headline.wrong.push_back(page.title + ": " + sentence);
    std::ranges::move(page.documents, std::back_inserter(whole.documents));
    names.push_back(page.title);
  }
  whole.sections = report::sections_side_by_side(all, names);
  return whole;
}

}  // namespace

std::string html_text(const Context& context, const db::Store& store, std::vector<HtmlReport> reports,
                      bool with_names) {
  const std::int64_t now = tuner::now_unix_ns();
  std::vector<report::ReportData> all;
  std::vector<report::Page> pages;
  for (HtmlReport& each : reports) {
    all.push_back(report::report_data(store, std::move(each.answer), std::move(each.expectations),
                                      {.now_unix_ns = now, .running = each.running}));
    pages.push_back(page_of(context, all.back()));
  }
  report::Page page = pages.size() == 1 ? std::move(pages.front()) : joined(std::move(pages), all);
  page.written_unix_s = now / 1'000'000'000;
  page.written = fmt::format("Written {} by Nocturne {}.", utc_text(now), tuner::version());
  return report::html_of(page, with_names ? report::Discretion() : report::Discretion(names_in(context, all, store)));
}

std::filesystem::path html_file(const Context& context, const db::CampaignSummary& campaign) {
  return context.data_folder() / "reports" / (deploy::file_stem(campaign.name) + ".html");
}

std::expected<std::int64_t, std::string> write_html(const Context& context, const db::Store& store,
                                                    std::vector<HtmlReport> reports, const std::filesystem::path& file,
                                                    bool with_names) {
  const std::string text = html_text(context, store, std::move(reports), with_names);
  if (auto written = space::write_file(file, text); !written) return std::unexpected(written.error());
  return std::ssize(text);
}

}  // namespace nocturne::cli
