#include <algorithm>

#include <fmt/format.h>

#include "tuner/report/html/charts/charts.hpp"

namespace nocturne::report {
namespace {

std::string settings_of(const tuner::RankedLevel& level) {
  std::string text;
  for (const auto& [name, value] : level.settings.values())
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, space::to_text(value));
  return text;
}

std::string pairs_of(const tuner::RankedLevel& level) {
  if (!level.gain) return "";
  return fmt::format("{} ({} to {}), {} pairs", signed_digits(level.gain->gain_percent),
                     signed_digits(level.gain->low_percent), signed_digits(level.gain->high_percent),
                     level.gain->pairs);
}

}  // namespace

std::optional<Chart> ranking_chart(const std::optional<tuner::Ranking>& ranking, const std::string& horizon) {
  if (!ranking) return std::nullopt;
  Chart chart{
      .id = "ranking",
      .title = fmt::format("Which {} is the fastest?", ranking->parameter),
      .says = "The best trial of each. These are single trials: an order of close ones is not sure, pairs decide.",
      .x = {.title = fmt::format("seconds for {}", horizon), .low = 0},
      .y = {.title = ""}};
  chart.table.columns = {ranking->parameter,
                         "seconds",
                         "standard error, s",
                         "trial",
                         "trained",
                         "failed",
                         "faster than the first in pairs, %",
                         "settings, or why it failed"};
  Series bars{.name = "best trial", .form = Form::Bars, .hue = Hue::Main};
  for (const tuner::RankedLevel& level : ranking->levels) {
    const std::string name = space::to_text(level.level);
    const bool trained = level.best.has_value();
    chart.table.rows.push_back({name, trained ? digits(level.seconds) : "",
                                trained && level.standard_error > 0 ? digits(level.standard_error) : "",
                                trained ? fmt::format("{}", level.best->trial.number) : "",
                                fmt::format("{}", level.trained), fmt::format("{}", level.failed), pairs_of(level),
                                trained ? settings_of(level) : level.reason});
    if (!trained) continue;
    bars.data.push_back({.at = static_cast<double>(chart.rows.size()),
                         .low = 0,
                         .high = level.seconds,
                         .text = fmt::format("trial {}: {}", level.best->trial.number, settings_of(level))});
    chart.rows.push_back(name);
  }
  if (chart.rows.size() < 2) return std::nullopt;
  chart.series = {std::move(bars)};
  return chart;
}

}  // namespace nocturne::report
