#include "tuner/cli/output/published_results_report.hpp"

#include <cmath>
#include <ostream>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tuner/cli/output/format.hpp"
#include "tuner/cli/output/table.hpp"

namespace nocturne::cli {
namespace {

using nlohmann::json;
using report::Grade;
using report::Judgement;
using report::PublishedKind;
using report::ReplicationOutcome;

/// "+54 % (or +117 %)": as speed, and as time saved where that makes a difference.
std::string published_text(const report::PublishedResult& published) {
  if (published.published_percent) {
    const double time = report::gain_percent(*published.published_percent, report::Reading::TimeSaved);
    std::string text = fmt::format("{:+g} %", *published.published_percent);
    if (std::abs(time - *published.published_percent) >= 1) text += fmt::format(" (or {:+.0f} %)", time);
    return text;
  }
  switch (published.kind) {
    case PublishedKind::Same:
      return fmt::format("similar, ±{:g} %", published.margin_percent);
    case PublishedKind::FarBehind:
      return fmt::format("far behind, {:g} %", published.margin_percent);
    case PublishedKind::LaterEpochs:
      return fmt::format("stable, {:g} %", published.margin_percent);
    case PublishedKind::FirstEpoch:
      return "longer";
    case PublishedKind::Interaction:
      return "differs";
    case PublishedKind::Faster:
      break;
  }
  return "faster";
}

std::string interval_text(double percent, double low_percent, double high_percent) {
  return fmt::format("{:+.1f} % ({:+.1f} to {:+.1f} %)", percent, low_percent, high_percent);
}

std::string measured_text(const PublishedResultRow& row) {
  if (!row.evidence) return "–";
  const report::Evidence& found = *row.evidence;
  const std::string interval = interval_text(found.percent, found.low_percent, found.high_percent);
  return found.grade == Grade::Trials ? interval + ", not interleaved" : interval;
}

Judgement judgement_of(const report::PublishedResult& published, const report::ShippedAnswer& shipped) {
  return report::judge(published, shipped.low_percent, shipped.high_percent, true);
}

std::string shipped_finding_text(const report::PublishedResult& published, const report::ShippedAnswer& shipped) {
  const std::string sentence = report::sentence_of(judgement_of(published, shipped));
  return shipped.note.empty() ? sentence : fmt::format("{} ({})", sentence, shipped.note);
}

std::string title_of(const report::PublishedResult& published) {
  return published.today ? published.title + " (today's)" : published.title;
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

std::string repetitions_text(const report::PublishedResult& published, const report::ShippedAnswer& shipped) {
  return fmt::format("{} {}", shipped.repetitions, report::is_of_epochs(published.kind) ? "processes" : "pairs");
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

void print_commands(std::ostream& out, const std::vector<PublishedResultRow>& rows, bool elsewhere,
                    std::string_view heading) {
  std::set<std::string> printed;  // two results may need the same
  for (const PublishedResultRow& row : rows) {
    if (row.command.empty() || row.elsewhere != elsewhere || !printed.insert(row.command).second) continue;
    if (printed.size() == 1) out << '\n' << heading << '\n';
    out << "  " << row.command << '\n';
  }
}

json shipped_json(const report::PublishedResult& published) {
  json list = json::array();
  for (const report::ShippedAnswer& each : published.shipped) {
    const Judgement judgement = judgement_of(published, each);
    list.push_back({{"machine", each.machine},
                    {"percent", each.percent},
                    {"low_percent", each.low_percent},
                    {"high_percent", each.high_percent},
                    {"repetitions", each.repetitions},
                    {"note", each.note},
                    {"finding", report::to_text(judgement.finding)},
                    {"published_size", report::to_text(judgement.size)}});
  }
  return list;
}

json evidence_json(const report::Evidence& found) {
  return {{"by", report::to_text(found.grade)}, {"percent", found.percent},         {"low_percent", found.low_percent},
          {"high_percent", found.high_percent}, {"repetitions", found.repetitions}, {"epochs", found.epochs},
          {"campaign", found.campaign},         {"generation", found.generation}};
}

json published_json(const report::PublishedResult& published) {
  const auto or_null = [](bool there, const auto& value) { return there ? json(value) : json(nullptr); };
  json document = {
      {"result", published.id},
      {"title", published.title},
      {"sentence", published.sentence},
      {"place", published.place},
      {"kind", report::to_text(published.kind)},
      {"network", published.network},
      {"other_network", published.other_network},
      {"device", published.device},
      {"today", published.today},
      {"published_percent", or_null(published.published_percent.has_value(), published.published_percent.value_or(0))},
      {"margin_percent", or_null(published.margin_percent > 0, published.margin_percent)},
      {"readings", nullptr},
      {"shipped", shipped_json(published)}};
  if (const auto& percent = published.published_percent) {
    document["readings"] = {{"speed_percent", report::gain_percent(*percent, report::Reading::Speed)},
                            {"time_saved_percent", report::gain_percent(*percent, report::Reading::TimeSaved)}};
  }
  return document;
}

/// What came along, of whichever machine.
Table shipped_table(const std::vector<PublishedResultRow>& rows) {
  Table table({{"result"}, {"95 %"}, {"repetitions"}, {"machine"}, {"finding"}});
  for (const PublishedResultRow& row : rows) {
    for (const report::ShippedAnswer& each : row.published.shipped) {
      const Judgement judgement = judgement_of(row.published, each);
      table.add({Cell(title_of(row.published)), Cell(interval_text(each.percent, each.low_percent, each.high_percent)),
                 Cell(repetitions_text(row.published, each)), Cell(each.machine),
                 Cell(shipped_finding_text(row.published, each), finding_style(judgement.finding))});
    }
  }
  return table;
}

}  // namespace

void print_published_results(const Context& context, const std::vector<PublishedResultRow>& rows) {
  std::ostream& out = *context.out;
  Table table({{"result"}, {"paper", Align::Right}, {"here, 95 %"}, {"repetitions"}, {"finding"}});
  for (const PublishedResultRow& row : rows) {
    table.add({Cell(title_of(row.published)), Cell(published_text(row.published)), Cell(measured_text(row)),
               Cell(repetitions_text(row)), Cell(finding_text(row), finding_style(row.judgement.finding))});
  }
  table.print(context);
  out << "'or': the percentage read as time saved rather than as speed; the nearer is judged. Margins (similar, "
         "behind,\n"
         "stable) are ours, the paper gives none.\n";
  out << "\nMeasured before:\n";
  shipped_table(rows).print(context);
  print_commands(out, rows, false, "To measure what is missing, in turns:");
  print_commands(out, rows, true, "To measure elsewhere what cannot be measured here:");
}

std::string published_results_markdown(const std::vector<PublishedResultRow>& rows) {
  std::string text =
      "| published result | paper | here, 95 % | repetitions | finding | measured before |\n"
      "| --- | --- | --- | --- | --- | --- |\n";
  for (const PublishedResultRow& row : rows) {
    std::string before;
    for (const report::ShippedAnswer& each : row.published.shipped) {
      before +=
          fmt::format("{}{}, {}, {}: {}", before.empty() ? "" : "; ",
                      interval_text(each.percent, each.low_percent, each.high_percent),
                      repetitions_text(row.published, each), each.machine, shipped_finding_text(row.published, each));
    }
    text += fmt::format("| {} | {} | {} | {} | {} | {} |\n", cell_of_markdown(title_of(row.published)),
                        published_text(row.published), measured_text(row), repetitions_text(row),
                        cell_of_markdown(finding_text(row)), before.empty() ? "–" : cell_of_markdown(before));
  }
  return text;
}

json published_results_json(const std::vector<PublishedResultRow>& rows) {
  json document = json::array();
  for (const PublishedResultRow& row : rows) {
    json each = published_json(row.published);
    each["finding"] = report::to_text(row.judgement.finding);
    each["published_size"] = report::to_text(row.judgement.size);
    each["reading"] =
        row.judgement.size == report::Size::Unknown ? json() : json(report::to_text(row.judgement.reading));
    each["measured"] = row.evidence ? evidence_json(*row.evidence) : json();
    each["reason"] = row.reason;
    each["command"] = row.command;
    each["elsewhere"] = row.elsewhere;
    document.push_back(std::move(each));
  }
  return document;
}

}  // namespace nocturne::cli
