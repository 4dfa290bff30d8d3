#include "tuner/cli/output/published_results_report.hpp"

#include <ostream>

#include <fmt/format.h>

#include "tuner/cli/output/format.hpp"
#include "tuner/cli/output/table.hpp"

namespace nocturne::cli {
namespace {

using nlohmann::json;
using report::Grade;
using report::ReplicationOutcome;

std::string published_text(const report::PublishedResult& published) {
  if (published.published_percent) return fmt::format("{:+g} %", *published.published_percent);
  return published.kind == report::PublishedKind::FirstEpoch ? "longer" : "faster";
}

std::string measured_text(const PublishedResultRow& row) {
  if (!row.evidence) return "–";
  const report::Evidence& found = *row.evidence;
  const std::string interval =
      fmt::format("{:+.1f} % ({:+.1f} to {:+.1f} %)", found.percent, found.low_percent, found.high_percent);
  return found.grade == Grade::Trials ? interval + ", not interleaved" : interval;
}

std::string repetitions_text(const PublishedResultRow& row) {
  if (!row.evidence) return "0";
  const report::Evidence& found = *row.evidence;
  switch (found.grade) {
    case Grade::Pairs:
      return fmt::format("{} pairs, {:g} epoch{}", found.repetitions, found.epochs, found.epochs == 1 ? "" : "s");
    case Grade::Trials:
      return fmt::format("{} processes, {:g} epoch{}", found.repetitions, found.epochs, found.epochs == 1 ? "" : "s");
    case Grade::Epochs:
      break;
  }
  return fmt::format("{} runs of whole epochs", found.repetitions);
}

std::string finding_text(const PublishedResultRow& row) {
  const std::string sentence = report::sentence_of(row.judgement);
  return !row.evidence && !row.reason.empty() ? sentence + ": " + one_line(row.reason) : sentence;
}

Style finding_style(ReplicationOutcome finding) {
  if (finding == ReplicationOutcome::Confirmed) return Style::Good;
  return finding == ReplicationOutcome::Reversed ? Style::Bad : Style::Warning;
}

std::string cell_of_markdown(const std::string& text) {
  std::string safe;
  for (const char letter : one_line(text)) {
    if (letter == '|') safe += '\\';
    safe += letter;
  }
  return safe;
}

}  // namespace

void print_published_results(const Context& context, const std::vector<PublishedResultRow>& rows) {
  std::ostream& out = *context.out;
  Table table({{"result"}, {"paper", Align::Right}, {"here, 95 %"}, {"repetitions"}, {"finding"}});
  for (const PublishedResultRow& row : rows) {
    table.add({Cell(row.published.title), Cell(published_text(row.published)), Cell(measured_text(row)),
               Cell(repetitions_text(row)), Cell(finding_text(row), finding_style(row.judgement.finding))});
  }
  table.print(context);
  bool heading = false;
  for (const PublishedResultRow& row : rows) {
    if (row.command.empty()) continue;
    if (!heading) out << "\nTo measure what is missing, in turns:\n";
    heading = true;
    out << "  " << row.command << '\n';
  }
}

std::string published_results_markdown(const std::vector<PublishedResultRow>& rows) {
  std::string text =
      "| published result | paper | here, 95 % | repetitions | finding |\n| --- | --- | --- | --- | --- |\n";
  for (const PublishedResultRow& row : rows) {
    text += fmt::format("| {} | {} | {} | {} | {} |\n", cell_of_markdown(row.published.title),
                        published_text(row.published), measured_text(row), repetitions_text(row),
                        cell_of_markdown(finding_text(row)));
  }
  return text;
}

json published_results_json(const std::vector<PublishedResultRow>& rows) {
  json document = json::array();
  for (const PublishedResultRow& row : rows) {
    json each = {
        {"result", row.published.id},
        {"sentence", row.published.sentence},
        {"network", row.published.network},
        {"device", row.published.device},
        {"published_percent", row.published.published_percent ? json(*row.published.published_percent) : json(nullptr)},
        {"finding", report::to_text(row.judgement.finding)},
        {"published_size", report::to_text(row.judgement.size)},
        {"measured", nullptr},
        {"reason", row.reason},
        {"command", row.command}};
    if (const auto& found = row.evidence) {
      each["measured"] = {{"by", report::to_text(found->grade)}, {"percent", found->percent},
                          {"low_percent", found->low_percent},   {"high_percent", found->high_percent},
                          {"repetitions", found->repetitions},   {"epochs", found->epochs},
                          {"campaign", found->campaign},         {"generation", found->generation}};
    }
    document.push_back(std::move(each));
  }
  return document;
}

}  // namespace nocturne::cli
