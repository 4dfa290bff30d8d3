#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "tuner/report/html/charts/charts.hpp"

namespace nocturne::report {

std::optional<Chart> predictions_chart(std::span<const tuner::LeftOutTrial> trials) {
  if (trials.empty()) return std::nullopt;
  Chart chart{.id = "predictions",
              .title = "How well does the model know this machine?",
              .says = "",
              .x = {.title = "seconds measured", .logarithmic = true},
              .y = {.title = "seconds predicted from all other trials", .logarithmic = true}};
  chart.table.columns = {"trial", "measured, s", "predicted, s", "90 % interval from, s", "to, s"};
  Series points{.name = "a trial", .form = Form::Points, .hue = Hue::Main};
  double least = trials.front().measured, most = least;
  std::size_t held = 0;
  for (const tuner::LeftOutTrial& each : trials) {
    points.data.push_back(trial_point(each.measured, each.predicted, each.trial));
    chart.table.rows.push_back({fmt::format("{}", each.trial), digits(each.measured), digits(each.predicted),
                                digits(each.low), digits(each.high)});
    least = std::min(least, each.measured);
    most = std::max(most, each.measured);
    held += each.low <= each.measured && each.measured <= each.high ? 1U : 0U;
  }
  chart.says = fmt::format(
      "Each trial is left out in turn and predicted from the others; on the line the prediction is "
      "right. {} of {} were inside their 90 % intervals.",
      held, trials.size());
  Series right{.name = "as predicted", .form = Form::Line, .hue = Hue::Faint, .dashed = true};
  right.data = {point(least, least), point(most, most)};
  chart.series = {std::move(right), std::move(points)};
  return chart;
}

}  // namespace nocturne::report
