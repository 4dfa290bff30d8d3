#include <algorithm>

#include <fmt/format.h>

#include "tuner/report/html/charts/charts.hpp"

namespace nocturne::report {
namespace {

constexpr std::size_t kMostReasons = 12;  // the table has all of them

}  // namespace

std::optional<Chart> failures_chart(std::span<const tuner::FailureGroup> groups) {
  if (groups.empty()) return std::nullopt;
  Chart chart{.id = "failures",
              .title = "Why did trials fail?",
              .says = "A failed trial is a result: the search avoids what is like it.",
              .x = {.title = "trials", .low = 0, .whole = true},
              .y = {.title = ""}};
  chart.table.columns = {"what happened", "reason", "trials", "their numbers"};
  std::vector<tuner::FailureGroup> sorted(groups.begin(), groups.end());
  std::ranges::stable_sort(sorted, std::ranges::greater(),
                           [](const tuner::FailureGroup& each) { return each.trials.size(); });
  Series bars{.name = "trials", .form = Form::Bars, .hue = Hue::Other};
  for (const tuner::FailureGroup& each : sorted) {
    const std::string outcome = outcome_words(each.outcome);
    chart.table.rows.push_back(
        {outcome, each.reason, fmt::format("{}", each.trials.size()), fmt::format("{}", fmt::join(each.trials, ", "))});
    if (chart.rows.size() == kMostReasons) continue;
    bars.data.push_back({.at = static_cast<double>(chart.rows.size()),
                         .low = 0,
                         .high = static_cast<double>(each.trials.size()),
                         .text = each.reason});
    chart.rows.push_back(each.reason.empty() ? outcome : outcome + ": " + each.reason);
  }
  chart.series = {std::move(bars)};
  return chart;
}

}  // namespace nocturne::report
