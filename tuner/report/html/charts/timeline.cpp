#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "tuner/report/html/charts/charts.hpp"

namespace nocturne::report {
namespace {

struct Lane {
  Activity activity;
  std::string_view row, means;
  Hue hue;
};
/// From the top.
constexpr std::array<Lane, 7> kLanes = {{
    {Activity::Preparing, "installs and builds", "what a trial needs before it can start", Hue::Extra},
    {Activity::Trial, "trials", "one configuration, timed", Hue::Main},
    {Activity::FailedTrial, "failed trials", "it did not train", Hue::Other},
    {Activity::Gate, "training checks", "does it learn as it should?", Hue::Good},
    {Activity::Pair, "pairs", "two configurations in turns", Hue::Warning},
    {Activity::Interrupted, "nobody tuned", "between two sessions", Hue::Faint},
    {Activity::Disturbed, "disturbed", "others used much of the machine", Hue::Other},
}};

constexpr double kLongNight = 4 * 3600;  // seconds: from then on in hours

}  // namespace

std::optional<Chart> timeline_chart(std::span<const Stretch> stretches) {
  if (stretches.empty()) return std::nullopt;
  const double end = std::ranges::max(stretches, {}, &Stretch::to_s).to_s;
  const bool hours = end > kLongNight;
  const double unit = hours ? 3600 : 60;
  Chart chart{.id = "timeline",
              .title = "What was done when?",
              .says = "",
              .x = {.title = hours ? "hours since the campaign began" : "minutes since the campaign began",
                    .low = 0,
                    .high = end / unit},
              .y = {.title = ""}};
  chart.table.columns = {"what", "means", "how often", hours ? "hours in all" : "minutes in all"};
  std::string says;
  for (const Lane& lane : kLanes) {
    const double row = static_cast<double>(chart.rows.size());
    Series series{.name = std::string(lane.row), .form = Form::Bars, .hue = lane.hue};
    double seconds = 0;
    for (const Stretch& each : stretches) {
      if (each.activity != lane.activity) continue;
      series.data.push_back(
          {.at = row, .low = each.from_s / unit, .high = each.to_s / unit, .text = each.text, .trial = each.trial});
      seconds += each.to_s - each.from_s;
    }
    if (series.data.empty()) continue;
    chart.rows.emplace_back(lane.row);
    chart.table.rows.push_back({std::string(lane.row), std::string(lane.means), fmt::format("{}", series.data.size()),
                                digits(seconds / unit)});
    says += fmt::format("{}{}: {} in {} {}", says.empty() ? "In all: " : "; ", lane.row, series.data.size(),
                        digits(seconds / unit), hours ? "h" : "min");
    chart.series.push_back(std::move(series));
  }
  chart.says = "Each bar is a process, a pair of them, or what had to be prepared. " + says + ".";
  return chart;
}

}  // namespace nocturne::report
