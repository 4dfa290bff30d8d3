#include "tuner/cli/output/replay_page.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <ostream>
#include <utility>

#include <fmt/format.h>

#include "tuner/cli/output/table.hpp"

namespace nocturne::cli {
namespace {

namespace replay = search::replay;
using nlohmann::json;
using replay::CalibrationCell;
using replay::CalibrationRow;
using replay::Mean;

std::string percent(const Mean& mean) {
  if (mean.count == 0) return "–";
  auto text = fmt::format("{:.1f}", 100 * mean.value);
  if (mean.standard_error) text += fmt::format(" ± {:.1f}", 100 * *mean.standard_error);
  return text;
}

std::string hits(std::size_t part, std::size_t whole) {
  return whole == 0 ? "–" : fmt::format("{}/{}", part, whole);
}

std::string percent_of(std::size_t part, std::size_t whole) {
  return whole == 0 ? "–" : fmt::format("{:.1f}", 100 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string name_of(const CalibrationPage& page, const CalibrationRow& row) {
  return page.spaces[row.space].name();
}

using Rows = std::function<void(const std::string& name, const CalibrationRow& row)>;

void for_each_row(const CalibrationPage& page, const Rows& visit) {
  for (const auto& row : page.table.rows) visit(name_of(page, row), row);
  for (const auto& row : page.table.all) visit("all spaces", row);
}

/// Calibration: two groups of columns, one for each model.
void print_coverage(const Context& context, const CalibrationPage& page) {
  std::vector<Column> columns = {{"within 90 %, %"}};
  for (const char* model : {"prune", "report"})
    for (const auto budget : page.table.budgets)
      columns.push_back({fmt::format("{} @{}", model, budget), Align::Right});
  columns.push_back({fmt::format("faster @{}", page.table.budgets.back()), Align::Right});
  Table table(columns);
  for_each_row(page, [&](const std::string& name, const CalibrationRow& row) {
    std::vector<Cell> cells = {name};
    for (const auto& cell : row.cells) cells.emplace_back(percent(cell.search_coverage));
    for (const auto& cell : row.cells) cells.emplace_back(percent(cell.report_coverage));
    cells.emplace_back(percent(row.cells.back().search_below));
    table.add(cells);
  });
  table.print(context);
}

void print_pruning(const Context& context, const CalibrationPage& page) {
  std::vector<Column> columns = {{"pruned, %"}};
  for (const auto budget : page.table.budgets) columns.push_back({fmt::format("@{}", budget), Align::Right});
  for (const char* header :
       {"beat bound", "beat best", "audits", "of them", "rate", "≤", "best", "≤", "own ≤", "optimum found", "pruned"})
    columns.push_back({header, Align::Right});
  Table table(columns);
  for_each_row(page, [&](const std::string& name, const CalibrationRow& row) {
    std::vector<Cell> cells = {name};
    for (const auto& cell : row.cells) cells.emplace_back(percent(cell.pruned));
    const auto& end = row.cells.back();
    cells.emplace_back(percent(end.beat_bound));
    cells.emplace_back(percent(end.beat_incumbent));
    cells.emplace_back(fmt::format("{}", end.audits));
    cells.emplace_back(fmt::format("{}", end.audit_failures));
    cells.emplace_back(percent_of(end.audit_failures, end.audits));
    cells.emplace_back(fmt::format("{:.1f}", 100 * end.failure_rate().upper));
    cells.emplace_back(fmt::format("{}", end.audit_misses));
    cells.emplace_back(fmt::format("{:.1f}", 100 * end.miss_rate().upper));
    cells.emplace_back(percent({.value = end.own_miss_bound.value, .count = end.own_miss_bound.count}));
    cells.emplace_back(hits(end.optimum_found, end.runs));
    cells.emplace_back(hits(end.optimum_pruned, end.runs));
    table.add(cells);
  });
  table.print(context);
}

json mean_json(const Mean& mean) {
  if (mean.count == 0) return nullptr;
  return {{"mean", mean.value},
          {"standard_error", mean.standard_error ? json(*mean.standard_error) : json(nullptr)},
          {"of", mean.count}};
}

json cell_json(const CalibrationCell& cell) {
  return {{"evaluations", cell.evaluations},
          {"runs", cell.runs},
          {"within_90_percent",
           {{"pruning", mean_json(cell.search_coverage)}, {"report", mean_json(cell.report_coverage)}}},
          {"faster_than_90_percent", mean_json(cell.search_below)},
          {"pruned", mean_json(cell.pruned)},
          {"pruned_that_beat_their_bound", mean_json(cell.beat_bound)},
          {"pruned_that_beat_the_incumbent", mean_json(cell.beat_incumbent)},
          {"audits",
           {{"count", cell.audits},
            {"beat_their_bound", cell.audit_failures},
            {"beat_their_bound_upper_95_percent", cell.failure_rate().upper},
            {"beat_the_incumbent", cell.audit_misses},
            {"beat_the_incumbent_upper_95_percent", cell.miss_rate().upper},
            {"own_upper_95_percent", mean_json(cell.own_miss_bound)}}},
          {"optimum", {{"found", cell.optimum_found}, {"pruned", cell.optimum_pruned}}}};
}

json row_json(const CalibrationPage& page, const CalibrationRow& row) {
  json document = {{"strategy", page.options.strategies[row.strategy]}, {"budgets", json::array()}};
  for (const auto& cell : row.cells) document["budgets"].push_back(cell_json(cell));
  return document;
}

using nlohmann::json;

/// Whether the row above was of the same space: its name is printed once.
std::string space_name(const ScoreboardPage& page, std::size_t row) {
  const auto& rows = page.board.rows;
  const bool again = row > 0 && rows[row - 1].space == rows[row].space;
  return again ? "" : page.spaces[rows[row].space].name();
}

/// Random search is a measure of each space of the page.
bool all_judged(const ScoreboardPage& page) {
  return std::ranges::none_of(page.spaces, &replay::RecordedSpace::chosen_by_search);
}

Cell ratio_cell(replay::Cell cell, bool judged) {
  cell.worse_than_random = cell.worse_than_random && judged;
  auto text = fmt::format("{:.3f}", cell.ratio);
  if (cell.standard_error) text += fmt::format(" ± {:.3f}", *cell.standard_error);
  return {text + (cell.worse_than_random ? "*" : " "), cell.worse_than_random ? Style::Bad : Style::Plain};
}

std::vector<Column> columns_of(const ScoreboardPage& page, std::vector<Column> first) {
  for (const auto budget : page.board.budgets) first.push_back({fmt::format("@{} ", budget), Align::Right});
  return first;
}

std::vector<Cell> random_row(const std::vector<replay::Cell>& cells, std::vector<Cell> first) {
  for (const auto& cell : cells) first.emplace_back(fmt::format("{:.3f} ", cell.random));
  return first;
}

void add_scores(std::vector<Cell>& row, const replay::Score& score, const replay::Score& score_100, double milliseconds,
                bool judged) {
  for (const double each : {score_100.exact, score.exact, score.published})
    row.emplace_back(judged ? fmt::format("{:+.3f}", each) : "–");
  row.emplace_back(fmt::format("{:.3f}", milliseconds));
}

void add_score_columns(std::vector<Column>& columns, std::size_t cap) {
  columns.push_back({"score ≤100", Align::Right});
  columns.push_back({fmt::format("score ≤{}", cap), Align::Right});
  columns.push_back({"published", Align::Right});
  columns.push_back({"ms", Align::Right});
}

std::string steps_text(double evaluations) {
  return std::isinf(evaluations) ? "–" : fmt::format("{:.0f}", evaluations);
}

void print_spaces(const Context& context, const ScoreboardPage& page) {
  auto columns = columns_of(page, {{"space"}, {"strategy"}});
  columns.push_back({"to 5 %", Align::Right});
  add_score_columns(columns, page.board.cap);
  Table table(columns);
  for (std::size_t i = 0; i < page.board.rows.size(); ++i) {
    const auto& row = page.board.rows[i];
    if (const auto name = space_name(page, i); !name.empty()) {
      auto exact = random_row(row.cells, {name, Cell("random (exact)", Style::Faint)});
      const auto& recorded = page.spaces[row.space];
      const replay::RandomBaseline random_baseline(recorded.ordered(), recorded.rows().size());
      exact.emplace_back(steps_text(random_baseline.expected_draws(1.05)));
      for (int blank = 0; blank < 4; ++blank) exact.emplace_back("");
      table.add(exact);
    }
    std::vector<Cell> cells = {"", page.options.strategies[row.strategy]};
    const bool judged = !page.spaces[row.space].chosen_by_search();
    for (const auto& cell : row.cells) cells.push_back(ratio_cell(cell, judged));
    cells.emplace_back(steps_text(row.median_to_5_percent));
    add_scores(cells, row.score, row.score_100, row.milliseconds, judged);
    table.add(cells);
  }
  table.print(context);
}

void print_summaries(const Context& context, const ScoreboardPage& page) {
  auto columns = columns_of(page, {{"geometric mean"}});
  columns.push_back({"worse", Align::Right});
  add_score_columns(columns, page.board.cap);
  Table table(columns);
  auto exact = random_row(page.board.summaries.front().cells, {Cell("random (exact)", Style::Faint)});
  for (int blank = 0; blank < 5; ++blank) exact.emplace_back("");
  table.add(exact);
  for (const auto& summary : page.board.summaries) {
    std::vector<Cell> cells = {page.options.strategies[summary.strategy]};
    for (const auto& cell : summary.cells)
      cells.push_back(ratio_cell(cell, /*judged=*/false));  // in the column "worse"
    const bool judged = all_judged(page);
    cells.emplace_back(judged ? fmt::format("{}", summary.worse) : "–",
                       !judged || summary.worse == 0 ? Style::Plain : Style::Bad);
    add_scores(cells, summary.score, summary.score_100, summary.milliseconds, judged);
    table.add(cells);
  }
  table.print(context);
}

json scores_json(const replay::Score& score_100, const replay::Score& score, std::size_t cap, bool judged) {
  auto list = json::array();
  if (!judged) return list;
  for (const auto& [at, each] : {std::pair(std::size_t{100}, score_100), std::pair(cap, score)})
    list.push_back({{"cap", at}, {"exact", each.exact}, {"published", each.published}});
  return list;
}

json cells_json(const replay::Scoreboard& board, const std::vector<replay::Cell>& cells, bool test) {
  auto list = json::array();
  for (std::size_t b = 0; b < cells.size(); ++b) {
    const auto& cell = cells[b];
    json entry = {{"evaluations", board.budgets[b]}, {"ratio", cell.ratio}, {"random", cell.random}};
    entry["standard_error"] = cell.standard_error ? json(*cell.standard_error) : json(nullptr);
    const bool has_z = cell.standard_error && *cell.standard_error > 0;
    if (test) {
      entry["z"] = has_z ? json((cell.ratio - cell.random) / *cell.standard_error) : json(nullptr);
      entry["worse_than_random"] = cell.worse_than_random;
    }
    list.push_back(std::move(entry));
  }
  return list;
}

json row_json(const ScoreboardPage& page, const replay::SpaceRow& row) {
  const bool judged = !page.spaces[row.space].chosen_by_search();
  return {{"space", page.spaces[row.space].name()},
          {"strategy", page.options.strategies[row.strategy]},
          {"best_over_optimum", cells_json(page.board, row.cells, judged)},
          {"scores", scores_json(row.score_100, row.score, page.board.cap, judged)},
          {"median_evaluations_to_5_percent",
           std::isinf(row.median_to_5_percent) ? json(nullptr) : json(row.median_to_5_percent)},
          {"ask_tell_ms", row.milliseconds}};
}

}  // namespace

void print_calibration(const Context& context, const CalibrationPage& page) {
  if (page.table.rows.empty()) {
    *context.out << "\nNothing was predicted: the spaces are walked through, or there were fewer evaluations than "
                 << replay::kBudgets.front() << ".\n";
    return;
  }
  *context.out << "\n";
  print_coverage(context, page);
  *context.out
      << "\nShare of the configurations not measured yet (drawn uniformly, those that work) whose true value "
         "lies in the\n90 % interval predicted for it, mean of the runs ± standard error. prune: of the model that "
         "proposes and prunes;\nreport: of one fitted for reports to the same trials; faster: below the former.\n\n";
  print_pruning(context, page);
  *context.out << fmt::format(
      "\nShare of those configurations that is pruned. Of the pruned, after {} evaluations:\n"
      "beat bound: faster than the optimistic end of their 90 % interval (nominally 5); beat best: than the best "
      "then.\n"
      "audits: of all runs; those that beat their bound, their rate and its upper 95 % bound (Clopper and Pearson);\n"
      "best: those that beat the best measured then, and the bound of that rate; own: as one run knows it, on "
      "average.\n"
      "optimum: runs that found it; runs that have not found it, and rule it out.\n",
      page.table.budgets.back());
}

json calibration_json(const CalibrationPage& page) {
  json document = {{"draws", replay::kCalibrationDraws}, {"spaces", json::array()}, {"all", json::array()}};
  for (const auto& row : page.table.rows) {
    auto entry = row_json(page, row);
    entry["space"] = name_of(page, row);
    document["spaces"].push_back(std::move(entry));
  }
  for (const auto& row : page.table.all) document["all"].push_back(row_json(page, row));
  return document;
}

void print_slots(const Context& context, const SlotsPage& page) {
  Table table({{"strategy"},
               {"slots", Align::Right},
               {"best / optimum", Align::Right},
               {"times sooner", Align::Right},
               {"runs within 5 %", Align::Right}});
  for (const auto& row : page.rows) {
    table.add({page.strategies[row.strategy], fmt::format("{}", row.slots), fmt::format("{:.3f}", row.ratio),
               fmt::format("{:.1f}", row.sooner), fmt::format("{} of {}", row.close, row.runs)});
  }
  table.print(context);
  *context.out << fmt::format(
      "\nBest found / optimum after {} evaluations, over {} spaces. Times sooner: until a run is within 5 % of the "
      "optimum,\nby recorded durations, against the first number of slots.\n",
      page.evaluations, page.spaces);
}

void print_scoreboard(const Context& context, const ScoreboardPage& page) {
  print_spaces(context, page);
  *context.out << "\n";
  print_summaries(context, page);
  const auto& options = page.options;
  *context.out << fmt::format(
      "\nBest found / optimum after so many evaluations, mean of {} runs (seeds {} to {}) ± standard error.\n"
      "* significantly worse than random search (one-sided t test, level {}). \"random (exact)\" is computed, not "
      "run.\n"
      "to 5 %: evaluations until half of the runs are within 5 % of the optimum (random: until one is, on average).\n"
      "score: 0 like random search, 1 the optimum at once, up to that many evaluations; published: the same against "
      "the published baseline. ms: CPU time of ask and tell an evaluation.\n",
      options.repeats, options.seed, options.seed + options.repeats - 1, replay::Scoreboard::kLevel);
  for (const auto& space : page.spaces) {
    if (!space.chosen_by_search()) continue;
    *context.out << fmt::format(
        "\n{}: a search chose these configurations, so random search among them is no measure of the space: no "
        "score.\n",
        space.name());
  }
  const auto& disturbance = options.disturbance;
  if (disturbance.any() || page.dummies > 0) {
    *context.out << fmt::format(
        "Told with disturbance: noise {}, outliers {}, failures {}, {} parameters that do nothing; judged by the "
        "truth.\n",
        disturbance.noise, disturbance.outliers, disturbance.failures, page.dummies);
  }
}

json scoreboard_json(const ScoreboardPage& page) {
  const auto& options = page.options;
  json document = {{"evaluations", options.evaluations},
                   {"repeats", options.repeats},
                   {"seed", options.seed},
                   {"level", replay::Scoreboard::kLevel},
                   {"disturbance",
                    {{"noise", options.disturbance.noise},
                     {"outliers", options.disturbance.outliers},
                     {"failures", options.disturbance.failures},
                     {"dummies", page.dummies}}},
                   {"spaces", json::array()},
                   {"results", json::array()},
                   {"summary", json::array()}};
  for (const auto& recorded : page.spaces) {
    const auto& rows = recorded.rows();
    document["spaces"].push_back({{"name", recorded.name()},
                                  {"kind", recorded.kind()},
                                  {"chosen_by_search", recorded.chosen_by_search()},
                                  {"rows", rows.size()},
                                  {"failed", rows.size() - recorded.ordered().size()},
                                  {"optimum", recorded.optimum()},
                                  {"notes", recorded.notes()}});
  }
  for (const auto& row : page.board.rows) document["results"].push_back(row_json(page, row));
  for (const auto& summary : page.board.summaries) {
    document["summary"].push_back(
        {{"strategy", options.strategies[summary.strategy]},
         {"best_over_optimum", cells_json(page.board, summary.cells, false)},
         {"scores", scores_json(summary.score_100, summary.score, page.board.cap, all_judged(page))},
         {"worse_than_random", all_judged(page) ? json(summary.worse) : json(nullptr)},
         {"ask_tell_ms", summary.milliseconds}});
  }
  return document;
}

}  // namespace nocturne::cli
