#include "tuner/cli/output/preflight_page.hpp"

#include <algorithm>
#include <ostream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tuner/cli/output/format.hpp"
#include "tuner/cli/output/rows.hpp"
#include "tuner/cli/output/table.hpp"

namespace nocturne::cli {
namespace {

bool goes(const db::PreflightRecord& record) {
  return record.outcome == space::Outcome::Ok;
}

std::string row_words(const db::PreflightRecord& record) {
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

std::string preflight_words(const db::PreflightRecord& record) {
  std::string text = row_words(record);
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
               nanoseconds_text(record.prepare), goes(record) ? nanoseconds_text(record.train) : "", row_words(record),
               because});
  }
  table.print(context);
  *context.out << tuner::to_text(report) << ".\n";
  const auto bad = std::ranges::find_if(
      records, [](const db::PreflightRecord& record) { return !goes(record) && !record.log_tail.empty(); });
  if (bad != records.end()) {
    *context.out << fmt::format("\nThe last words of {}:\n{}", row_words(*bad), printable(bad->log_tail));
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
