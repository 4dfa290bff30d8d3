#include <fmt/format.h>

#include "tuner/report/html/charts/charts.hpp"

namespace nocturne::report {

std::optional<Chart> side_times_chart(std::span<const Side> sides) {
  Chart chart{.id = "sides",
              .title = "Who is faster, and by what?",
              .says =
                  "Times of single trials; they were not measured side by side, so only large differences between the "
                  "campaigns mean something.",
              .x = {.title = "seconds", .low = 0},
              .y = {.title = ""}};
  chart.table.columns = {"campaign", "times are of", "default, s", "best, s", "best differs from the default in",
                         "machine"};
  Series defaults{.name = "default", .form = Form::Bars, .hue = Hue::Other};
  Series bests{.name = "best", .form = Form::Bars, .hue = Hue::Main};
  const auto add = [&chart](Series& series, const std::string& name, const std::optional<double>& seconds) {
    if (!seconds) return;
    series.data.push_back({.at = static_cast<double>(chart.rows.size()), .low = 0, .high = *seconds});
    chart.rows.push_back(fmt::format("{}: {}", name, series.name));
  };
  for (const Side& side : sides) {
    add(defaults, side.name, side.default_seconds);
    add(bests, side.name, side.best_seconds);
    const auto cell = [](const std::optional<double>& seconds) { return seconds ? digits(*seconds) : std::string(); };
    chart.table.rows.push_back(
        {side.name, side.horizon, cell(side.default_seconds), cell(side.best_seconds), side.settings, side.machine});
  }
  if (chart.rows.empty()) return std::nullopt;
  chart.series = {std::move(defaults), std::move(bests)};
  return chart;
}

std::optional<Chart> side_gains_chart(std::span<const Side> sides) {
  Chart chart{.id = "side-gains",
              .title = "How much did tuning bring in each?",
              .says =
                  "Gain of the best over the default of the same campaign, from pairs, with the 95 % interval. Where "
                  "the intervals overlap, the gains may be the same.",
              .x = {.title = "faster than the default by, %"},
              .y = {.title = ""}};
  chart.table.columns = {"campaign", "gain, %", "95 % interval from, %", "to, %", "pairs"};
  Series interval{.name = "95 % interval", .form = Form::Bars, .hue = Hue::Main};
  Series middle{.name = "gain", .form = Form::Points, .hue = Hue::Other};
  for (const Side& side : sides) {
    if (!side.gain) continue;
    const auto row = static_cast<double>(chart.rows.size());
    interval.data.push_back({.at = row, .low = side.gain->low_percent, .high = side.gain->high_percent});
    middle.data.push_back(point(row, side.gain->gain_percent));
    chart.rows.push_back(side.name);
    chart.table.rows.push_back({side.name, signed_digits(side.gain->gain_percent),
                                signed_digits(side.gain->low_percent), signed_digits(side.gain->high_percent),
                                fmt::format("{}", side.gain->pairs)});
  }
  if (chart.rows.empty()) return std::nullopt;
  chart.series = {std::move(interval), std::move(middle)};
  chart.marks = {{.at = 0, .text = "as fast as the default", .vertical = true}};
  return chart;
}

}  // namespace nocturne::report
