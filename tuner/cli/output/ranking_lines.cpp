#include "tuner/cli/output/ranking_lines.hpp"

#include <algorithm>
#include <ostream>

#include <fmt/format.h>

#include "tuner/cli/output/format.hpp"
#include "tuner/cli/output/rows.hpp"
#include "tuner/cli/output/table.hpp"

namespace nocturne::cli {
namespace {

constexpr std::size_t kReasonWidth = 80;

std::string why_not(const tuner::RankedLevel& level) {
  return level.failed == 0 ? "not tried" : "none trained: " + shortened(one_line(level.reason), kReasonWidth);
}

}  // namespace

void print_ranking(const Context& context, const tuner::Ranking& ranking) {
  const double fastest = ranking.levels.empty() ? 0 : ranking.levels.front().seconds;
  std::vector<const tuner::RankedLevel*> untried;
  Table table({{"  " + ranking.parameter},
               {"best", Align::Right},
               {"times as long", Align::Right},
               {"trial", Align::Right},
               {"tried", Align::Right},
               {""}});
  for (const tuner::RankedLevel& each : ranking.levels) {
    const auto name = Cell("  " + space::to_text(each.level), each.best ? Style::Plain : Style::Faint);
    if (each.best) {
      table.add({name, Cell(seconds_text(each.seconds)), Cell(fmt::format("{:.2f}", each.seconds / fastest)),
                 Cell(fmt::format("{}", each.best->trial.number)), Cell(fmt::format("{}", each.trained + each.failed)),
                 Cell("")});
      continue;
    }
    if (each.failed == 0) untried.push_back(&each);
    table.add({name, Cell("–"), Cell("–"), Cell("–"), Cell(fmt::format("{}", each.failed)), Cell(why_not(each))});
  }
  *context.out << fmt::format("Ranking   by {}, the best trial of each; pairs decide (nocturne compare --measure)\n",
                              ranking.parameter);
  table.print(*context.out, context.colour_out());
  if (!untried.empty()) {
    *context.out << fmt::format("          what is expected of one: nocturne explain {}={}\n", ranking.parameter,
                                space::to_text(untried.front()->level));
  }
}

nlohmann::json ranking_json(const tuner::Ranking& ranking) {
  nlohmann::json levels = nlohmann::json::array();
  for (const tuner::RankedLevel& each : ranking.levels) {
    nlohmann::json level = {{"level", space::to_json(each.level)},
                            {"seconds", nullptr},
                            {"trial", nullptr},
                            {"trained", each.trained},
                            {"failed", each.failed}};
    if (each.best) {
      level["seconds"] = each.seconds;
      level["trial"] = each.best->trial.number;
    }
    if (!each.reason.empty()) level["reason"] = each.reason;
    levels.push_back(std::move(level));
  }
  return {{"parameter", ranking.parameter}, {"levels", std::move(levels)}};
}

}  // namespace nocturne::cli
