#include "search/replay/calibration_table.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "space/moments.hpp"

namespace nocturne::search::replay {
namespace {

Mean mean_of(std::span<const double> values) {
  const space::Moments moments = space::moments_of(values);
  Mean mean{.value = moments.mean, .count = moments.count};
  if (moments.count > 1) mean.standard_error = moments.standard_error();
  return mean;
}

double share(std::size_t part, std::size_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

/// Mean over the runs; those of which `of` says nothing are left out.
Mean mean_over(std::span<const CalibrationCheck* const> runs,
               const std::function<std::optional<double>(const CalibrationCheck&)>& of) {
  std::vector<double> values;
  for (const auto* run : runs)
    if (const auto value = of(*run)) values.push_back(*value);
  return mean_of(values);
}

std::optional<double> share_of_drawn(const CalibrationCheck& run, std::size_t part) {
  return run.drawn() == 0 ? std::nullopt : std::optional(share(part, run.drawn()));
}

std::optional<double> share_of_pruned(const CalibrationCheck& run, std::size_t part) {
  return run.pruned == 0 ? std::nullopt : std::optional(share(part, run.pruned));
}

CalibrationCell cell_of(const Series& series, std::size_t budget) {
  std::vector<const CalibrationCheck*> runs;
  for (const auto& run : series.runs) {
    for (const auto& calibration : run.calibration)
      if (calibration.evaluations == budget) runs.push_back(&calibration);
  }
  CalibrationCell cell{.evaluations = budget, .runs = runs.size()};
  cell.search_coverage =
      mean_over(runs, [](const auto& run) { return share_of_drawn(run, run.search_intervals.inside); });
  cell.search_below = mean_over(runs, [](const auto& run) { return share_of_drawn(run, run.search_intervals.below); });
  cell.report_coverage =
      mean_over(runs, [](const auto& run) { return share_of_drawn(run, run.report_intervals.inside); });
  cell.pruned = mean_over(runs, [](const auto& run) { return share_of_drawn(run, run.pruned); });
  cell.beat_bound = mean_over(runs, [](const auto& run) { return share_of_pruned(run, run.beat_bound); });
  cell.beat_incumbent = mean_over(runs, [](const auto& run) { return share_of_pruned(run, run.beat_incumbent); });
  cell.own_miss_bound = mean_over(runs, [](const auto& run) -> std::optional<double> {
    return run.audits == 0 ? std::nullopt : std::optional(model::clopper_pearson(run.audit_misses, run.audits).upper);
  });
  for (const auto* run : runs) {
    cell.audits += run->audits;
    cell.audit_failures += run->audit_failures;
    cell.audit_misses += run->audit_misses;
    cell.optimum_found += run->optimum_found;
    cell.optimum_pruned += run->optimum_pruned;
  }
  return cell;
}

/// Mean of the spaces' means; their errors add in squares.
Mean mean_over_spaces(std::span<const CalibrationCell* const> spaces, Mean CalibrationCell::* which) {
  std::vector<double> values;
  double squares = 0;
  bool known = true;
  for (const auto* cell : spaces) {
    const auto& mean = cell->*which;
    if (mean.count == 0) continue;
    values.push_back(mean.value);
    known = known && mean.standard_error.has_value();
    squares += std::pow(mean.standard_error.value_or(0), 2);
  }
  auto mean = mean_of(values);
  mean.standard_error.reset();
  if (known && mean.count > 0) mean.standard_error = std::sqrt(squares) / static_cast<double>(mean.count);
  return mean;
}

CalibrationCell over_all(std::span<const CalibrationCell* const> spaces, std::size_t budget) {
  CalibrationCell cell{.evaluations = budget};
  for (const auto which : {&CalibrationCell::search_coverage, &CalibrationCell::search_below,
                           &CalibrationCell::report_coverage, &CalibrationCell::pruned, &CalibrationCell::beat_bound,
                           &CalibrationCell::beat_incumbent, &CalibrationCell::own_miss_bound})
    cell.*which = mean_over_spaces(spaces, which);
  for (const auto* each : spaces) {
    cell.runs += each->runs;
    cell.audits += each->audits;
    cell.audit_failures += each->audit_failures;
    cell.audit_misses += each->audit_misses;
    cell.optimum_found += each->optimum_found;
    cell.optimum_pruned += each->optimum_pruned;
  }
  return cell;
}

}  // namespace

CalibrationTable make_calibration_table(const ReplayOptions& options, std::span<const Series> series) {
  CalibrationTable table;
  std::ranges::copy_if(kBudgets, std::back_inserter(table.budgets),
                       [&](std::size_t budget) { return budget <= options.evaluations; });
  for (const auto& each : series) {
    if (std::ranges::all_of(each.runs, [](const auto& run) { return run.calibration.empty(); })) continue;
    CalibrationRow row{.space = each.space, .strategy = each.strategy, .cells = {}};
    for (const auto budget : table.budgets) row.cells.push_back(cell_of(each, budget));
    table.rows.push_back(std::move(row));
  }
  for (std::size_t strategy = 0; strategy < options.strategies.size(); ++strategy) {
    CalibrationRow all{.space = 0, .strategy = strategy, .cells = {}};
    for (std::size_t b = 0; b < table.budgets.size(); ++b) {
      std::vector<const CalibrationCell*> cells;
      for (const auto& row : table.rows)
        if (row.strategy == strategy) cells.push_back(&row.cells[b]);
      if (!cells.empty()) all.cells.push_back(over_all(cells, table.budgets[b]));
    }
    if (!all.cells.empty()) table.all.push_back(std::move(all));
  }
  return table;
}

}  // namespace nocturne::search::replay
