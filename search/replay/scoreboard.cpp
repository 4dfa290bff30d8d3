#include "search/replay/scoreboard.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>

#include "space/moments.hpp"

namespace nocturne::search::replay {
namespace {

Cell cell_at(std::span<const RunValues> runs, const RandomBaseline& random_baseline, std::size_t budget) {
  std::vector<double> ratios;
  for (const auto run : runs)
    ratios.push_back(best_of(run, budget, random_baseline.worst()) / random_baseline.optimum());
  const space::Moments moments = space::moments_of(ratios);
  Cell cell{.ratio = moments.mean,
            .standard_error = std::nullopt,
            .random = random_baseline.expected_best(budget) / random_baseline.optimum()};
  if (runs.size() < 2) return cell;
  cell.standard_error = moments.standard_error();
  // Rounding is not worse: where all runs found the same value, the mean may be off by the last bit.
  const double excess = cell.ratio - cell.random;
  const boost::math::students_t t(static_cast<double>(moments.count - 1));
  const double critical = boost::math::quantile(boost::math::complement(t, Scoreboard::kLevel));
  cell.worse_than_random = excess > 1e-12 * cell.random && excess > critical * *cell.standard_error;
  return cell;
}

double median_evaluations(std::span<const RunValues> runs, double target) {
  std::vector<double> hits;
  for (const auto run : runs) {
    const auto hit = std::ranges::find_if(run, [&](double value) { return value <= target; });
    hits.push_back(hit == run.end() ? std::numeric_limits<double>::infinity()
                                    : static_cast<double>(hit - run.begin() + 1));
  }
  // The run with which it is half of them: of an even number the lower of the two in the middle.
  const auto middle = hits.begin() + static_cast<std::ptrdiff_t>((hits.size() - 1) / 2);
  std::ranges::nth_element(hits, middle);
  return *middle;
}

double milliseconds_of(const Series& series) {
  double seconds = 0;
  std::size_t evaluations = 0;
  for (const auto& run : series.runs) {
    seconds += run.cpu_seconds;
    evaluations += run.values.size();
  }
  return evaluations == 0 ? 0 : 1e3 * seconds / static_cast<double>(evaluations);
}

SpaceRow row_of(const Series& series, const RandomBaseline& random_baseline, const Scoreboard& board) {
  std::vector<RunValues> runs;
  for (const auto& run : series.runs) runs.emplace_back(run.values);
  SpaceRow row{.space = series.space, .strategy = series.strategy, .cells = {}, .score = {}, .score_100 = {}};
  for (const auto budget : board.budgets) row.cells.push_back(cell_at(runs, random_baseline, budget));
  row.score = random_baseline.score(runs, board.cap);
  row.score_100 = random_baseline.score(runs, 100);
  row.median_to_5_percent = median_evaluations(runs, random_baseline.optimum() * kNearOptimum);
  row.milliseconds = milliseconds_of(series);
  return row;
}

/// Geometric means over spaces. The error of log r is se / r, and those of independent spaces add in squares.
Cell geometric_mean(std::span<const SpaceRow* const> rows, std::size_t budget) {
  double logs = 0;
  double random_logs = 0;
  double squares = 0;
  bool known = true;
  Cell mean;
  for (const auto* row : rows) {
    const auto& cell = row->cells[budget];
    logs += std::log(cell.ratio);
    random_logs += std::log(cell.random);
    known = known && cell.standard_error.has_value();
    const double relative = cell.standard_error.value_or(0) / cell.ratio;
    squares += relative * relative;
    mean.worse_than_random = mean.worse_than_random || cell.worse_than_random;
  }
  const auto count = static_cast<double>(rows.size());
  mean.ratio = std::exp(logs / count);
  mean.random = std::exp(random_logs / count);
  if (known) mean.standard_error = mean.ratio * std::sqrt(squares) / count;
  return mean;
}

Summary summary_of(std::size_t strategy, const Scoreboard& board) {
  std::vector<const SpaceRow*> rows;
  for (const auto& row : board.rows)
    if (row.strategy == strategy) rows.push_back(&row);
  Summary summary{.strategy = strategy, .cells = {}, .score = {}, .score_100 = {}};
  for (std::size_t b = 0; b < board.budgets.size(); ++b) summary.cells.push_back(geometric_mean(rows, b));
  const auto count = static_cast<double>(rows.size());
  for (const auto* row : rows) {
    summary.score.exact += row->score.exact / count;
    summary.score.published += row->score.published / count;
    summary.score_100.exact += row->score_100.exact / count;
    summary.score_100.published += row->score_100.published / count;
    summary.milliseconds += row->milliseconds / count;
    summary.worse += static_cast<std::size_t>(std::ranges::count_if(row->cells, &Cell::worse_than_random));
  }
  return summary;
}

}  // namespace

Scoreboard make_scoreboard(std::span<const RecordedSpace> spaces, const ReplayOptions& options,
                           std::span<const Series> series, std::size_t cap) {
  Scoreboard board;
  board.cap = cap;
  std::ranges::copy_if(kBudgets, std::back_inserter(board.budgets),
                       [&](std::size_t budget) { return budget <= options.evaluations; });
  if (board.budgets.empty()) board.budgets.push_back(options.evaluations);
  std::optional<RandomBaseline> random_baseline;
  for (std::size_t i = 0; i < series.size(); ++i) {
    if (i == 0 || series[i].space != series[i - 1].space) {
      const auto& recorded = spaces[series[i].space];
      random_baseline.emplace(recorded.ordered(), recorded.rows().size());
    }
    board.rows.push_back(row_of(series[i], *random_baseline, board));
  }
  for (std::size_t s = 0; s < options.strategies.size(); ++s) board.summaries.push_back(summary_of(s, board));
  return board;
}

}  // namespace nocturne::search::replay
