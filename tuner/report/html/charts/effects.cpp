#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "tuner/report/html/charts/charts.hpp"

namespace nocturne::report {
namespace {

constexpr std::size_t kMostEffects = 16;  // a screen

struct Effect {
  const tuner::Matter* matter;
  const tuner::OtherValue* other;
};

double percent(double log_change) {
  return 100 * std::expm1(log_change);
}

/// What surely matters, then what may, the largest first, then what hardly does.
std::vector<Effect> ordered(const tuner::Matters& matters) {
  std::vector<Effect> all;
  for (const auto* list : {&matters.much, &matters.unsure, &matters.hardly}) {
    const auto begun = all.size();
    for (const tuner::Matter& matter : *list)
      for (const tuner::OtherValue& other : matter.others) all.push_back({&matter, &other});
    std::ranges::stable_sort(all.begin() + static_cast<std::ptrdiff_t>(begun), all.end(), std::ranges::greater(),
                             [](const Effect& each) { return std::abs(each.other->change.mean); });
  }
  return all;
}

std::string instead(const Effect& effect) {
  std::string values = effect.other->value;
  for (const auto& [parameter, value] : effect.other->along) values += fmt::format(", {}={}", parameter, value);
  return values;
}

/// Intervals of what was tried once are so wide that nothing else would be seen: those are cut off.
void fit(Axis& axis, const std::vector<Effect>& shown) {
  double low = 0, high = 0;
  for (const Effect& each : shown) {
    const auto& change = each.other->change;
    for (const double value : {change.mean, each.other->measured.value_or(0)}) {
      low = std::min(low, percent(value));
      high = std::max(high, percent(value));
    }
    low = std::min(low, std::max(percent(change.interval.lower), -60.0));
    high = std::max(high, std::min(percent(change.interval.upper), 100.0));
  }
  axis.low = std::floor(low - 5);
  axis.high = std::ceil(high + 5);
}

}  // namespace

std::optional<Chart> effects_chart(const std::optional<tuner::Matters>& matters) {
  if (!matters) return std::nullopt;
  const std::vector<Effect> all = ordered(*matters);
  if (all.empty()) return std::nullopt;
  Chart chart{.id = "effects",
              .title = "What makes the best fast?",
              .says =
                  "Each row changes one setting of the best. The bar is the model's 95 % interval of how much slower "
                  "that would be; where it crosses 0, nobody knows whether it would be slower at all. What was "
                  "measured is marked by itself: both configurations were tried, or compared in pairs.",
              .x = {.title = "slower than the best by, % (left of 0: faster)"},
              .y = {.title = ""}};
  Series interval{.name = "model, 95 % interval", .form = Form::Bars, .hue = Hue::Main};
  Series expected{.name = "model, expected", .form = Form::Points, .hue = Hue::Main};
  Series measured{.name = "measured", .form = Form::Points, .hue = Hue::Other};
  chart.table.columns = {"setting", "best has",   "instead", "slower by, %", "95 % interval from, %",
                         "to, %",   "measured, %"};
  std::vector<Effect> shown(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), kMostEffects)));
  for (const Effect& each : all) {
    const auto& change = each.other->change;
    const bool in_chart = chart.rows.size() < kMostEffects;
    const auto row = static_cast<double>(chart.rows.size());
    const std::string seen = each.other->measured ? signed_digits(percent(*each.other->measured)) : "";
    const std::string by = seen.empty() ? "" : each.other->pairs > 0 ? " (in pairs)" : " (single trials)";
    chart.table.rows.push_back({each.matter->parameter, each.matter->value, instead(each),
                                signed_digits(percent(change.mean)), signed_digits(percent(change.interval.lower)),
                                signed_digits(percent(change.interval.upper)), seen + by});
    if (!in_chart) continue;
    chart.rows.push_back(fmt::format("{}: {}", each.matter->parameter, instead(each)));
    interval.data.push_back({.at = row,
                             .low = percent(change.interval.lower),
                             .high = percent(change.interval.upper),
                             .text = fmt::format("instead of {}", each.matter->value)});
    expected.data.push_back(point(row, percent(change.mean)));
    if (each.other->measured) measured.data.push_back(point(row, percent(*each.other->measured)));
  }
  fit(chart.x, shown);
  chart.series = {std::move(interval), std::move(expected), std::move(measured)};
  chart.marks = {{.at = 0, .text = "the best", .vertical = true}};
  return chart;
}

}  // namespace nocturne::report
