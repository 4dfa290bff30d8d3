#include "tuner/cli/output/claims_report.hpp"

#include <ostream>

#include <fmt/format.h>

#include "tuner/cli/output/colour.hpp"
#include "tuner/cli/output/format.hpp"
#include "tuner/cli/output/table.hpp"

namespace nocturne::cli {
namespace {

using nlohmann::json;
using report::Finding;
using report::Grade;

std::string claimed_text(const report::Claim& claim) {
  if (claim.claimed_percent) return fmt::format("{:+g} %", *claim.claimed_percent);
  return claim.kind == report::ClaimKind::FirstEpoch ? "longer" : "faster";
}

std::string measured_text(const ClaimRow& row) {
  if (!row.evidence) return "–";
  const report::Evidence& found = *row.evidence;
  const std::string interval =
      fmt::format("{:+.1f} % ({:+.1f} to {:+.1f} %)", found.percent, found.low_percent, found.high_percent);
  return found.grade == Grade::Trials ? interval + ", not interleaved" : interval;
}

std::string repetitions_text(const ClaimRow& row) {
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

std::string finding_text(const ClaimRow& row) {
  const std::string sentence = report::sentence_of(row.judgement);
  return !row.evidence && !row.reason.empty() ? sentence + ": " + one_line(row.reason) : sentence;
}

Style finding_style(Finding finding) {
  if (finding == Finding::Confirmed) return Style::Good;
  return finding == Finding::Reversed ? Style::Bad : Style::Warning;
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

void print_claims_report(const Context& context, const std::vector<ClaimRow>& rows) {
  std::ostream& out = *context.out;
  Table table({{"claim"}, {"paper", Align::Right}, {"here, 95 %"}, {"repetitions"}, {"finding"}});
  for (const ClaimRow& row : rows) {
    table.add({Cell(row.claim.title), Cell(claimed_text(row.claim)), Cell(measured_text(row)),
               Cell(repetitions_text(row)), Cell(finding_text(row), finding_style(row.judgement.finding))});
  }
  table.print(context);
  bool heading = false;
  for (const ClaimRow& row : rows) {
    if (row.command.empty()) continue;
    if (!heading) out << "\nTo measure what is missing, in turns:\n";
    heading = true;
    out << "  " << row.command << '\n';
  }
}

std::string claims_markdown(const std::vector<ClaimRow>& rows) {
  std::string text = "| claim | paper | here, 95 % | repetitions | finding |\n| --- | --- | --- | --- | --- |\n";
  for (const ClaimRow& row : rows) {
    text += fmt::format("| {} | {} | {} | {} | {} |\n", cell_of_markdown(row.claim.title), claimed_text(row.claim),
                        measured_text(row), repetitions_text(row), cell_of_markdown(finding_text(row)));
  }
  return text;
}

json claims_report_json(const std::vector<ClaimRow>& rows) {
  json document = json::array();
  for (const ClaimRow& row : rows) {
    json each = {{"claim", row.claim.id},
                 {"sentence", row.claim.sentence},
                 {"network", row.claim.network},
                 {"device", row.claim.device},
                 {"claimed_percent", row.claim.claimed_percent ? json(*row.claim.claimed_percent) : json(nullptr)},
                 {"finding", report::to_text(row.judgement.finding)},
                 {"claimed_size", report::to_text(row.judgement.size)},
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
