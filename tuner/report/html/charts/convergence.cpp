#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "tuner/campaign/answer/answer.hpp"
#include "tuner/report/html/charts/charts.hpp"

namespace nocturne::report {
namespace {

constexpr double kHour = 3600;
constexpr double kLongEnough = 2 * kHour;

/// The best so far, and a row of the table for each time it got better.
Series best_so_far(const Convergence& convergence, ChartTable& table) {
  Series best{.name = "best so far", .form = Form::Steps, .hue = Hue::Main};
  for (const Convergence::Found& each : convergence.trials) {
    if (!best.data.empty() && each.seconds >= best.data.back().low) continue;
    best.data.push_back(point(each.at_s / 60, each.seconds));
    table.rows.push_back({digits(each.at_s / 60), fmt::format("{}", each.trial), digits(each.seconds), each.settings});
  }
  best.data.push_back(point(convergence.end_s / 60, best.data.back().low));
  return best;
}

}  // namespace

std::optional<Chart> convergence_chart(const Convergence& convergence) {
  if (convergence.trials.empty()) return std::nullopt;
  Chart chart{.id = "convergence",
              .title = "How was the best found?",
              .says =
                  "Each point is a trial: one process each, so a single low point may be luck. The line is the best "
                  "so far.",
              .x = {.title = "minutes since the campaign began", .low = 0},
              .y = {.title = fmt::format("seconds for {}", convergence.horizon)}};
  chart.table.columns = {"minute", "trial", "best so far, s", "settings that differ from the default"};
  Series trials{.name = "a trial", .form = Form::Points, .hue = Hue::Faint};
  for (const Convergence::Found& each : convergence.trials)
    trials.data.push_back(trial_point(each.at_s / 60, each.seconds, each.trial));
  const auto [fastest, slowest] = std::ranges::minmax(convergence.trials, {}, &Convergence::Found::seconds);
  chart.y.logarithmic = spans_much(fastest.seconds, slowest.seconds);
  chart.series = {std::move(trials), best_so_far(convergence, chart.table)};
  if (convergence.default_seconds) chart.marks.push_back({.at = *convergence.default_seconds, .text = "the default"});
  if (const auto& verified = convergence.verified) {
    Series band{.name = "verified in pairs, 95 %", .form = Form::Band, .hue = Hue::Good};
    for (const double at : {verified->from_s, std::max(verified->to_s, verified->from_s + 1)})
      band.data.push_back({.at = at / 60, .low = verified->low, .high = verified->high});
    chart.series.push_back(std::move(band));
    chart.says += fmt::format(" The band at the end is what pairs say of the best: {} to {} s.", digits(verified->low),
                              digits(verified->high));
  }
  if (convergence.hour_gain) {
    const double best = chart.series[1].data.back().low;
    const double then = best * std::exp(-*convergence.hour_gain);
    // An hour beside a few minutes would leave no room for what was measured.
    if (convergence.end_s > kLongEnough)
      chart.series.push_back(
          {.name = "another hour, forecast",
           .form = Form::Line,
           .hue = Hue::Main,
           .data = {point(convergence.end_s / 60, best), point((convergence.end_s + kHour) / 60, then)},
           .dashed = true});
    chart.says += fmt::format(" Another hour of search is forecast to make it {:.1f} % faster; that is no interval.",
                              tuner::gain_percent(-*convergence.hour_gain));
  }
  return chart;
}

}  // namespace nocturne::report
