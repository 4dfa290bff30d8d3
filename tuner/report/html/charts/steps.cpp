#include <algorithm>
#include <array>
#include <cstddef>

#include <fmt/format.h>

#include "tuner/report/html/charts/charts.hpp"

namespace nocturne::report {
namespace {

constexpr std::array<Hue, 2> kProcessHues = {Hue::Other, Hue::Main};  // the default and the best
constexpr std::size_t kMostPoints = 250;                              // of a process: more are one cloud

double middle(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

}  // namespace

std::optional<Chart> steps_chart(const StepTimes& times) {
  Chart chart{.id = "steps",
              .title = "How even are the training steps?",
              .says =
                  "One point for each timed stretch of steps in a process of the default and of the best. The first "
                  "steps are slower and are left out of the result; a cloud that is wide or jumps was disturbed. ",
              .x = {.title = "training step of its process"},
              .y = {.title = "milliseconds a step", .low = 0}};
  chart.says += times.noise;
  chart.table.columns = {"process", "timed stretches", "middle, ms a step", "fastest, ms", "slowest, ms"};
  for (std::size_t k = 0; k < std::min(times.processes.size(), kProcessHues.size()); ++k) {
    const StepTimes::Process& process = times.processes[k];
    if (process.seconds.empty()) continue;
    Series series{.name = process.name, .form = Form::Points, .hue = kProcessHues[k]};
    const std::size_t stride = process.seconds.size() / kMostPoints + 1;
    for (std::size_t i = 0; i < process.seconds.size(); i += stride)
      series.data.push_back(point(process.first_step[i], 1e3 * process.seconds[i]));
    const auto [fastest, slowest] = std::ranges::minmax(process.seconds);
    chart.table.rows.push_back({process.name, fmt::format("{}", process.seconds.size()),
                                digits(1e3 * middle(process.seconds)), digits(1e3 * fastest), digits(1e3 * slowest)});
    chart.series.push_back(std::move(series));
  }
  if (chart.series.empty()) return std::nullopt;
  return chart;
}

}  // namespace nocturne::report
