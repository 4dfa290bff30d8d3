#include "tuner/cli/output/blame_page.hpp"

#include <algorithm>
#include <cmath>
#include <ostream>

#include <fmt/format.h>

#include "space/fingerprint.hpp"
#include "tuner/cli/output/command_line.hpp"
#include "tuner/cli/output/format.hpp"
#include "tuner/cli/output/table.hpp"
#include "tuner/deploy/shell_quote.hpp"
#include "tuner/installation/invocation.hpp"

namespace nocturne::cli {
namespace {

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

}  // namespace

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
  if (!sentence.empty() && sentence.front() >= 'a' && sentence.front() <= 'z') {
    sentence.front() = static_cast<char>(sentence.front() - 'a' + 'A');
  }
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

}  // namespace nocturne::cli
