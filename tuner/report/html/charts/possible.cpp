#include <fmt/format.h>

#include "tuner/report/html/charts/charts.hpp"

namespace nocturne::report {

std::optional<Chart> possible_chart(const Reached& reached) {
  if (reached.rows.empty()) return std::nullopt;
  Chart chart{.id = "possible",
              .title = "How much of the possible is reached?",
              .says =
                  "A step cannot take less than its operations at the machine's peak, nor less than its bytes at the "
                  "bandwidth of memory. 100 % would be that bound; it is never reached in practice. ",
              .x = {.title = "share of what the machine can do at best, %", .low = 0},
              .y = {.title = ""}};
  chart.says += reached.sentence;
  chart.table.columns = {"trial", "share, %", "waits for", "settings that differ from the default"};
  Series bars{.name = "share of the possible", .form = Form::Bars, .hue = Hue::Main};
  for (const Reached::Row& row : reached.rows) {
    bars.data.push_back({.at = static_cast<double>(chart.rows.size()),
                         .low = 0,
                         .high = 100 * row.share,
                         .text = fmt::format("waits for {}; {}", row.waits_for, row.settings)});
    chart.rows.push_back(fmt::format("trial {}", row.trial));
    chart.table.rows.push_back({fmt::format("{}", row.trial), digits(100 * row.share), row.waits_for, row.settings});
  }
  chart.series = {std::move(bars)};
  chart.marks = {{.at = 100, .text = "the bound", .vertical = true}};
  return chart;
}

}  // namespace nocturne::report
