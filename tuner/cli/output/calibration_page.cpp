#include "tuner/cli/output/calibration_page.hpp"

#include <fmt/format.h>

#include <functional>
#include <ostream>

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
  for (const char* model : {"prune", "report"}) {
    for (const auto budget : page.table.budgets)
      columns.push_back({fmt::format("{} @{}", model, budget), Align::Right});
  }
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

}  // namespace

void print_calibration(const Context& context, const CalibrationPage& page) {
  if (page.table.rows.empty()) {
    *context.out << "\nNothing was claimed: the spaces are walked through, or there were fewer evaluations than "
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

}  // namespace nocturne::cli
