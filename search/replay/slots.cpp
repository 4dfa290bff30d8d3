#include "search/replay/slots.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "search/replay/random_baseline.hpp"

namespace nocturne::search::replay {
namespace {

/// When the run was close to the optimum; empty: never.
std::optional<double> time_to_close(const RunTrace& run, double optimum) {
  const auto close = std::ranges::find_if(run.values, [&](double value) { return value <= kNearOptimum * optimum; });
  if (close == run.values.end()) return std::nullopt;
  return run.ended[static_cast<std::size_t>(close - run.values.begin())];
}

/// Of one space.
struct Figures {
  double ratio = 0, time = 0;  // means over the runs
  std::size_t close = 0;
};

Figures figures_of(const RecordedSpace& space, const Series& series, std::size_t evaluations) {
  Figures figures;
  for (const RunTrace& run : series.runs) {
    const double best = best_of(run.values, evaluations, space.ordered().back());
    figures.ratio += best / space.optimum();
    const auto time = time_to_close(run, space.optimum());
    if (time) ++figures.close;
    figures.time += time.value_or(run.ended.empty() ? 0 : run.ended.back());
  }
  const auto runs = static_cast<double>(series.runs.size());
  figures.ratio /= runs;
  figures.time /= runs;
  return figures;
}

}  // namespace

std::vector<SlotsRow> compare_slots(std::span<const RecordedSpace> spaces, std::size_t strategies,
                                    std::size_t evaluations, std::span<const SlotsRun> runs) {
  std::vector<SlotsRow> rows;
  for (std::size_t strategy = 0; strategy < strategies; ++strategy) {
    std::vector<double> first_times;  // by space, with the first number of slots
    for (const SlotsRun& each : runs) {
      SlotsRow row{.slots = each.slots, .strategy = strategy};
      double log_ratio = 0, log_sooner = 0;
      for (std::size_t space = 0; space < spaces.size(); ++space) {
        const std::size_t index = space * strategies + strategy;  // replay(): by space, then by strategy
        const Figures here = figures_of(spaces[space], each.series[index], evaluations);
        if (&each == &runs.front()) first_times.push_back(here.time);
        log_ratio += std::log(here.ratio);
        if (here.time > 0 && first_times[space] > 0) log_sooner += std::log(first_times[space] / here.time);
        row.close += here.close;
        row.runs += each.series[index].runs.size();
      }
      const auto count = static_cast<double>(std::max<std::size_t>(spaces.size(), 1));
      row.ratio = std::exp(log_ratio / count);
      row.sooner = std::exp(log_sooner / count);
      rows.push_back(row);
    }
  }
  return rows;
}

}  // namespace nocturne::search::replay
