// Several campaigns on one page.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tuner/campaign/answer/stored_gain.hpp"
#include "tuner/report/html/report_data.hpp"

namespace nocturne::report {
namespace {

/// What is compared of it with other campaigns. `name`: what it is called beside them.
Side side_of(const ReportData& data, const std::string& name) {
  const tuner::Answer& answer = data.answer;
  Side side{.name = name, .machine = machine_of(data), .horizon = horizon_of(answer)};
  const auto seconds = [](const std::optional<db::StoredTrial>& trial) {
    return trial && trial->trial.estimate ? std::optional(trial->trial.estimate->value) : std::nullopt;
  };
  side.default_seconds = seconds(answer.baseline);
  side.best_seconds = seconds(answer.best);
  if (answer.best) side.settings = data.defaults.text(answer.best->trial.configuration);
  if (answer.verdict) side.gain = tuner::gain_of(*answer.verdict, "", false);
  return side;
}

}  // namespace

std::vector<PageSection> sections_side_by_side(std::span<const ReportData> all, std::span<const std::string> names) {
  std::vector<Side> sides;
  for (std::size_t i = 0; i < all.size(); ++i) sides.push_back(side_of(all[i], names[i]));
  PageSection compared{.id = "sides", .heading = "Side by side", .instead = "Nothing has trained in any of them."};
  for (std::optional<Chart> chart : {side_gains_chart(sides), side_times_chart(sides)})
    if (chart) compared.charts.push_back(*std::move(chart));
  std::vector<PageSection> sections = {std::move(compared)};
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (PageSection& section : page_sections(all[i])) {
      section.id += fmt::format("-{}", i + 1);
      section.heading = fmt::format("{}: {}", names[i], section.heading);
      for (Chart& chart : section.charts) {
        chart.id += fmt::format("-{}", i + 1);
        chart.campaign = i;
      }
      sections.push_back(std::move(section));
    }
  }
  return sections;
}

}  // namespace nocturne::report
