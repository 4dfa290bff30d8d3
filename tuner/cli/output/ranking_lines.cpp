#include "tuner/cli/output/ranking_lines.hpp"

#include <algorithm>
#include <ostream>

#include <fmt/format.h>

#include "measure/run/shell_words.hpp"
#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/output/comparison_page.hpp"
#include "tuner/cli/output/format.hpp"
#include "tuner/cli/output/layout.hpp"
#include "tuner/cli/output/table.hpp"
#include "tuner/installation/invocation.hpp"

namespace nocturne::cli {
namespace {

constexpr std::size_t kRankingReasonWidth = 80;
/// So many trials the proposed comparison names: each costs some minutes of pairs, and the last are far behind.
constexpr std::size_t kCompared = 5;

/// What the best of a level is made of, or why there is none.
std::string what_it_is(const tuner::RankedLevel& level, const tuner::DefaultSettings& defaults) {
  if (level.best) return defaults.text(level.settings);
  return level.failed == 0 ? "not tried" : "none trained: " + shortened(one_line(level.reason), kRankingReasonWidth);
}

std::string pairs_text(const tuner::RankedLevel& level) {
  return level.gain ? level.gain->verdict + " " + gain_text(*level.gain) : "";
}

/// A column that says something of at least one level.
struct RankingColumn {
  Column column;
  bool shown;
  Cell (*cell)(const tuner::RankedLevel&, const tuner::Ranking&);
};

std::vector<RankingColumn> ranking_columns(const tuner::Ranking& ranking) {
  const auto any = [&](auto&& of) { return std::ranges::any_of(ranking.levels, of); };
  const bool errors = any([](const tuner::RankedLevel& each) { return each.standard_error > 0; });
  const bool failures = any([](const tuner::RankedLevel& each) { return each.failed > 0; });
  const bool gains = any([](const tuner::RankedLevel& each) { return each.gain.has_value(); });
  return {
      {{"  " + ranking.parameter},
       true,
       [](const tuner::RankedLevel& each, const tuner::Ranking&) -> Cell {
         return {"  " + space::to_text(each.level), each.best ? Style::Plain : Style::Faint};
       }},
      {{"best", Align::Right},
       true,
       [](const tuner::RankedLevel& each, const tuner::Ranking&) -> Cell {
         return {each.best ? seconds_text(each.seconds) : "–"};
       }},
      {{"±", Align::Right},
       errors,
       [](const tuner::RankedLevel& each, const tuner::Ranking&) -> Cell {
         return {each.standard_error > 0 ? percent_text(each.standard_error / each.seconds) : "–"};
       }},
      {{"times as long", Align::Right},
       true,
       [](const tuner::RankedLevel& each, const tuner::Ranking& all) -> Cell {
         return {each.best ? fmt::format("{:.2f}", each.seconds / all.levels.front().seconds) : "–"};
       }},
      {{"trial", Align::Right},
       true,
       [](const tuner::RankedLevel& each, const tuner::Ranking&) -> Cell {
         return {each.best ? fmt::format("{}", each.best->trial.number) : "–"};
       }},
      {{"tried", Align::Right},
       true,
       [](const tuner::RankedLevel& each, const tuner::Ranking&) -> Cell {
         return {fmt::format("{}", each.trained + each.failed)};
       }},
      {{"failed", Align::Right},
       failures,
       [](const tuner::RankedLevel& each, const tuner::Ranking&) -> Cell {
         return {fmt::format("{}", each.failed), each.failed > 0 ? Style::Bad : Style::Plain};
       }},
      {{"against the first, in pairs"},
       gains,
       [](const tuner::RankedLevel& each, const tuner::Ranking&) -> Cell { return {pairs_text(each)}; }},
      {{"settings", Align::Left, Fit::Wraps},
       true,
       [](const tuner::RankedLevel& each, const tuner::Ranking& all) -> Cell {
         return {what_it_is(each, all.defaults), each.best ? Style::Plain : Style::Faint};
       }},
  };
}

/// The command that measures the first levels in pairs; empty: all of them were, or there is nothing to compare.
std::string deciding_command(const db::CampaignSummary& campaign, const tuner::Ranking& ranking) {
  std::string trials;
  std::size_t named = 0;
  bool open = false;
  for (const tuner::RankedLevel& each : ranking.levels) {
    if (!each.best || named == kCompared) break;
    open = open || (named > 0 && !each.gain);
    trials += fmt::format("{}{}", trials.empty() ? "" : " ", each.best->trial.number);
    ++named;
  }
  if (!open) return {};
  return tuner::command_text("compare", fmt::format("{} --campaign {} --measure", trials, words_for(campaign)));
}

}  // namespace

void print_ranking(const Context& context, const db::CampaignSummary& campaign, const tuner::Ranking& ranking) {
  std::ostream& out = *context.out;
  auto columns = ranking_columns(ranking);
  std::erase_if(columns, [](const RankingColumn& each) { return !each.shown; });
  std::vector<Column> headers;
  for (const RankingColumn& each : columns) headers.push_back(each.column);
  Table table(std::move(headers));
  for (const tuner::RankedLevel& level : ranking.levels) {
    std::vector<Cell> cells;
    for (const RankingColumn& each : columns) cells.push_back(each.cell(level, ranking));
    table.add(std::move(cells));
  }
  out << fmt::format("Ranking   by {}, the best trial of each\n", ranking.parameter);
  table.print(context);
  if (const std::string command = deciding_command(campaign, ranking); !command.empty()) {
    out << "          these are single trials; pairs decide:\n";
    print_command(context, "", command);
  }
  const auto untried = std::ranges::find_if(
      ranking.levels, [](const tuner::RankedLevel& each) { return !each.best && each.failed == 0; });
  if (untried != ranking.levels.end()) {
    const std::string setting = measure::shell_quote(ranking.parameter + "=" + space::to_text(untried->level));
    out << "          what is expected of one that was not tried:\n";
    print_command(context, "", tuner::command_text("explain", setting + " " + words_for(campaign)));
  }
}

nlohmann::json ranking_json(const tuner::Ranking& ranking) {
  nlohmann::json levels = nlohmann::json::array();
  for (const tuner::RankedLevel& each : ranking.levels) {
    nlohmann::json level = {{"level", space::to_json(each.level)},
                            {"seconds", nullptr},
                            {"standard_error_s", nullptr},
                            {"trial", nullptr},
                            {"settings", nullptr},
                            {"gain", gain_json(each.gain)},
                            {"trained", each.trained},
                            {"failed", each.failed}};
    if (each.best) {
      level["seconds"] = each.seconds;
      if (each.standard_error > 0) level["standard_error_s"] = each.standard_error;
      level["trial"] = each.best->trial.number;
      level["settings"] = each.settings.to_json();
    }
    if (!each.reason.empty()) level["reason"] = each.reason;
    levels.push_back(std::move(level));
  }
  return {{"parameter", ranking.parameter}, {"levels", std::move(levels)}};
}

}  // namespace nocturne::cli
