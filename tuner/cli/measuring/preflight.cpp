#include "tuner/cli/measuring/preflight.hpp"

#include <algorithm>
#include <ostream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/output/format.hpp"
#include "tuner/cli/output/json.hpp"
#include "tuner/cli/output/rows.hpp"
#include "tuner/cli/output/table.hpp"
#include "tuner/preview/forecast.hpp"

namespace nocturne::cli {
namespace {

bool goes(const db::PreflightRecord& record) {
  return record.outcome == space::Outcome::Ok;
}

std::string stack_words(const db::PreflightRecord& record) {
  return record.stack.empty() ? "the one software stack" : settings_line(record.stack);
}

/// "batch 256; 1024, 512 out of memory", or nothing.
std::string too_large_words(const db::PreflightRecord& record) {
  if (record.too_large.empty()) return {};
  if (!goes(record)) return fmt::format("so were batches {}", fmt::join(record.too_large, ", "));
  const space::Value* batch = record.configuration.find("batch");
  return fmt::format("{}{} out of memory", batch != nullptr ? fmt::format("batch {}; ", space::to_text(*batch)) : "",
                     fmt::join(record.too_large, ", "));
}

std::string failure_words(const db::PreflightRecord& record) {
  if (goes(record)) return {};
  const std::string reason = record.reason.substr(0, record.reason.find('\n'));
  return fmt::format("{}: {}", space::to_text(record.outcome), one_line(reason));
}

}  // namespace

void add_preflight(CLI::App& subcommand, PreflightOptions& options) {
  CLI::Option* only = subcommand.add_flag("--preflight", options.only,
                                          "Only prepare each software stack and train it three steps: a list of what "
                                          "passed and what failed, and nothing else");
  subcommand
      .add_flag("--no-preflight", options.none, "Do not check before the night, however long the campaign will be")
      ->excludes(only);
}

PreflightChoice choose_preflight(const PreflightOptions& options, const tuner::CampaignSpec& spec,
                                 const db::Store& store) {
  if (options.only) return PreflightChoice{.preflight = tuner::PreflightMode::Only};
  if (options.none) return PreflightChoice{};
  const auto length = tuner::planned_length(spec, &store, std::chrono::system_clock::now());
  if (length && *length <= tuner::kWatched) return PreflightChoice{};
  PreflightChoice choice{.preflight = tuner::PreflightMode::First};
  if (length) choice.limit = *length / 10;
  return choice;
}

ExitCode report_preflight(const Context& context, const db::Store& store, const tuner::SessionResult& result) {
  const auto campaigns = store.list_campaigns();
  const auto campaign = std::ranges::find(campaigns, result.campaign, &db::CampaignSummary::id);
  if (campaign == campaigns.end() || !result.preflight) return ExitCode::NotFound;
  const auto records = store.preflights(result.campaign);
  if (context.json)
    print_json(context, "tune-preflight", preflight_json(*campaign, records, *result.preflight));
  else
    print_preflight(context, records, *result.preflight);
  return result.preflight->failed_stacks > 0 ? ExitCode::PreflightFailed : ExitCode::Ok;
}

std::string preflight_words(const db::PreflightRecord& record) {
  std::string text = stack_words(record);
  if (const auto words = too_large_words(record); !words.empty()) text += " (" + words + ")";
  if (const auto words = failure_words(record); !words.empty()) text += ": " + words;
  return text;
}

void print_preflight(const Context& context, std::span<const db::PreflightRecord> records,
                     const tuner::PreflightReport& report) {
  Table table(
      {{""}, {"prepared", Align::Right}, {"trained", Align::Right}, {"stack"}, {"because", Align::Left, Fit::Wraps}});
  for (const db::PreflightRecord& record : records) {
    std::string because = failure_words(record);
    if (const auto words = too_large_words(record); !words.empty()) because += (because.empty() ? "" : "; ") + words;
    table.add({Cell(goes(record) ? "passed" : "failed", goes(record) ? Style::Good : Style::Bad),
               nanoseconds_text(record.prepare), goes(record) ? nanoseconds_text(record.train) : "",
               stack_words(record), because});
  }
  table.print(context);
  *context.out << tuner::to_text(report) << ".\n";
  const auto bad = std::ranges::find_if(
      records, [](const db::PreflightRecord& record) { return !goes(record) && !record.log_tail.empty(); });
  if (bad != records.end()) {
    *context.out << fmt::format("\nThe last words of {}:\n{}", stack_words(*bad), printable(bad->log_tail));
    if (!bad->log_tail.ends_with('\n')) *context.out << '\n';
  }
}

nlohmann::json preflight_json(const db::CampaignSummary& campaign, std::span<const db::PreflightRecord> records,
                              const tuner::PreflightReport& report) {
  const auto seconds = [](std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); };
  nlohmann::json document = {{"campaign", campaign.name},           {"generation", campaign.generation},
                             {"passed", report.failed_stacks == 0}, {"failed_stacks", report.failed_stacks},
                             {"not_tried", report.not_tried},       {"left_out", report.left_out},
                             {"stacks", nlohmann::json::array()}};
  for (const db::PreflightRecord& record : records) {
    document["stacks"].push_back({{"stack", record.stack.to_json()},
                                  {"passed", goes(record)},
                                  {"outcome", space::to_text(record.outcome)},
                                  {"reason", record.reason},
                                  {"configuration", record.configuration.to_json()},
                                  {"too_large", record.too_large},
                                  {"prepare_s", seconds(record.prepare)},
                                  {"train_s", seconds(record.train)},
                                  {"log_tail", record.log_tail},
                                  {"tried", utc_text(record.preflight_unix_ns)}});
  }
  return document;
}

}  // namespace nocturne::cli
