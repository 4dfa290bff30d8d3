#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "tuner/report/html/charts/charts.hpp"

namespace nocturne::report {
namespace {

constexpr std::array<Hue, 5> kLineHues = {Hue::Other, Hue::Main, Hue::Good, Hue::Extra, Hue::Warning};
constexpr int kPoints = 41;  // of a line: from one end to the other, evenly by factors

}  // namespace

std::optional<Chart> epochs_chart(const EpochTimes& times) {
  if (times.lines.size() < 2) return std::nullopt;
  const double most = std::max(100.0, times.horizons.empty() ? 0 : 2 * times.horizons.back());
  Chart chart{.id = "epochs",
              .title = "For how many epochs does it pay?",
              .says =
                  "What starts slowly may train faster: compiling is paid once. Where lines cross, the other becomes "
                  "the better choice. Computed from what single trials took to start, and for an epoch.",
              .x = {.title = "epochs of training", .low = 1, .high = most, .logarithmic = true},
              .y = {.title = "seconds in all", .logarithmic = true}};
  chart.table.columns = {"configuration", "start, s", "each epoch, s"};
  for (const double horizon : times.horizons) chart.table.columns.push_back(fmt::format("{:g} epochs, s", horizon));
  chart.table.columns.emplace_back("settings that differ from the default");
  for (std::size_t i = 0; i < std::min(times.lines.size(), kLineHues.size()); ++i) {
    const EpochTimes::Line& line = times.lines[i];
    Series series{.name = line.name, .form = Form::Line, .hue = kLineHues[i], .dashed = i == 0};
    for (int k = 0; k < kPoints; ++k) {
      const double epochs = std::pow(most, static_cast<double>(k) / (kPoints - 1));
      series.data.push_back(point(epochs, line.start_s + epochs * line.epoch_s));
    }
    chart.series.push_back(std::move(series));
    std::vector<std::string> row = {line.name, digits(line.start_s), digits(line.epoch_s)};
    for (const double horizon : times.horizons) row.push_back(digits(line.start_s + horizon * line.epoch_s));
    row.push_back(line.settings);
    chart.table.rows.push_back(std::move(row));
  }
  for (const std::string& sentence : times.break_evens) chart.says += " In pairs: " + sentence + ".";
  return chart;
}

}  // namespace nocturne::report
