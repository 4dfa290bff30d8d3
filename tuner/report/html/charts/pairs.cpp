#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "measure/comparison/comparison.hpp"
#include "measure/comparison/planned_looks.hpp"
#include "tuner/campaign/answer/answer.hpp"
#include "tuner/report/html/charts/charts.hpp"

namespace nocturne::report {
namespace {

/// The interval of the first pairs is so wide that nothing else would be seen: the axis shows all pairs and the last
/// interval, with a tenth to spare.
void fit(Axis& axis, const std::vector<Datum>& each, const Datum& last) {
  double low = std::min(0.0, last.low), high = std::max(0.0, last.high);
  for (const Datum& pair : each) {
    low = std::min(low, pair.low);
    high = std::max(high, pair.high);
  }
  const double spare = std::max(0.1 * (high - low), 0.5);
  axis.low = std::floor(low - spare);
  axis.high = std::ceil(high + spare);
}

}  // namespace

std::optional<Chart> pairs_chart(const PairGains& gains) {
  const std::span<const double> ratios = gains.log_ratios;
  if (ratios.empty()) return std::nullopt;
  Chart chart{.id = "pairs",
              .title = "How much faster is the best, pair by pair?",
              .says = "",
              .x = {.title = "pair of fresh processes",
                    .low = 0.5,
                    .high = static_cast<double>(ratios.size()) + 0.5,
                    .whole = true},
              .y = {.title = "faster than the default by, %"}};
  Series each{.name = "one pair", .form = Form::Points, .hue = Hue::Other};
  Series middle{.name = "all pairs so far", .form = Form::Line, .hue = Hue::Main};
  Series interval{.name = "95 % interval so far", .form = Form::Band, .hue = Hue::Main};
  const auto plan = measure::plan_looks(gains.policy.pairs, gains.policy.most_pairs);
  chart.table.columns = {"pair", "this pair, %", "all so far, %", "95 % interval from, %", "to, %"};
  for (std::size_t i = 0; i < ratios.size(); ++i) {
    const auto number = static_cast<double>(i + 1);
    const double gain = tuner::gain_percent(-ratios[i]);  // which counts the ratio the other way round
    each.data.push_back(point(number, gain));
    chart.table.rows.push_back({fmt::format("{}", i + 1), signed_digits(gain), "", "", ""});
    if (i == 0) continue;
    const double confidence = measure::confidence_after(static_cast<std::int64_t>(i + 1), plan);
    const auto compared = measure::compare(ratios.first(i + 1),
                                           {.margin_percent = gains.policy.margin_percent, .confidence = confidence});
    middle.data.push_back(point(number, compared.gain_percent));
    interval.data.push_back({.at = number, .low = compared.low_percent, .high = compared.high_percent});
    auto& row = chart.table.rows.back();
    row[2] = signed_digits(compared.gain_percent);
    row[3] = signed_digits(compared.low_percent);
    row[4] = signed_digits(compared.high_percent);
  }
  const Datum last = interval.data.empty() ? each.data.back() : interval.data.back();
  fit(chart.y, each.data, last);
  chart.says = fmt::format(
      "Each point is a pair: the best and the default, started afresh and timed in turns. The band is the 95 % "
      "interval of the gain after that many pairs, and holds wherever one stops. Within ± {:g} % both count as the "
      "same.",
      gains.policy.margin_percent);
  chart.series = {std::move(interval), std::move(middle), std::move(each)};
  chart.marks = {{.at = 0, .text = "as fast as the default"}};
  return chart;
}

}  // namespace nocturne::report
