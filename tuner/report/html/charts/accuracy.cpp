#include <cmath>

#include <fmt/format.h>

#include "tuner/report/html/charts/charts.hpp"

namespace nocturne::report {

std::optional<Chart> accuracy_chart(const std::optional<measure::AccuracyDifference>& difference, double allowed_points,
                                    std::int64_t epochs) {
  if (!difference) return std::nullopt;
  const double higher = -difference->lower, low = -difference->at_most, high = -difference->at_least;
  Chart chart{.id = "accuracy",
              .title = "Does the best learn as much?",
              .says = fmt::format("Share of the test set that is right after {} epoch{}, the best less the default: {} "
                                  "points, 95 % interval {} to {}. Down to −{:g} points are allowed.",
                                  epochs, epochs == 1 ? "" : "s", signed_digits(higher), signed_digits(low),
                                  signed_digits(high), allowed_points),
              .x = {.title = "percentage points of the test set: left learns less, right learns more"},
              .y = {.title = ""},
              .rows = {"best less default"}};
  chart.series = {{.name = "95 % interval", .form = Form::Bars, .hue = Hue::Main, .data = {{.low = low, .high = high}}},
                  {.name = "measured", .form = Form::Points, .hue = Hue::Other, .data = {point(0, higher)}}};
  chart.marks = {{.at = 0, .text = "same", .vertical = true},
                 {.at = -allowed_points, .text = "allowed", .vertical = true}};
  chart.x.low = std::fmin(low, -allowed_points) - 0.2;
  chart.x.high = std::fmax(high, 0) + 0.2;
  chart.table = {.columns = {"points higher", "95 % interval from", "to", "lower allowed"},
                 .rows = {{signed_digits(higher), signed_digits(low), signed_digits(high), digits(allowed_points)}}};
  return chart;
}

}  // namespace nocturne::report
