#include <algorithm>

#include <fmt/format.h>

#include "tuner/report/html/charts/charts.hpp"

namespace nocturne::report {
namespace {

Datum datum_of(const MemoryUse::Trial& trial) {
  return trial_point(trial.gibibytes, trial.seconds, trial.trial);
}

}  // namespace

std::optional<Chart> memory_chart(const MemoryUse& use) {
  if (use.trials.size() < 2) return std::nullopt;
  Chart chart{.id = "memory",
              .title = "What does speed cost in memory?",
              .says =
                  "Each point is a trial; further left needs less memory, further down is faster. Of the marked ones "
                  "none is beaten in both.",
              .x = {.title = "memory of its processes at most, GiB"},
              .y = {.title = fmt::format("seconds for {}", use.horizon)}};
  const auto [fastest, slowest] = std::ranges::minmax(use.trials, {}, &MemoryUse::Trial::seconds);
  chart.y.logarithmic = spans_much(fastest.seconds, slowest.seconds);
  Series others{.name = "a trial", .form = Form::Points, .hue = Hue::Faint};
  for (const MemoryUse::Trial& each : use.trials) others.data.push_back(datum_of(each));
  Series front{.name = "beaten by none in both", .form = Form::Points, .hue = Hue::Good};
  chart.table.columns = {"trial", "seconds", "GiB", "cannot be told from trials",
                         "settings that differ from the default"};
  for (const MemoryUse::Front& each : use.front) {
    const MemoryUse::Trial& trial = use.trials[each.trial];
    front.data.push_back(datum_of(trial));
    chart.table.rows.push_back(
        {fmt::format("{}", trial.trial), digits(trial.seconds), digits(trial.gibibytes), each.as_good, trial.settings});
  }
  chart.series = {std::move(others), std::move(front)};
  if (use.baseline)
    chart.series.push_back({.name = "the default",
                            .form = Form::Points,
                            .hue = Hue::Other,
                            .data = {datum_of(use.trials[*use.baseline])}});
  if (use.best)
    chart.series.push_back(
        {.name = "the best", .form = Form::Points, .hue = Hue::Main, .data = {datum_of(use.trials[*use.best])}});
  return chart;
}

}  // namespace nocturne::report
