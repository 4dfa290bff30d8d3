// What went wrong in a campaign, in sentences.

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tuner/campaign/answer/failure_groups.hpp"
#include "tuner/report/html/report_data.hpp"

namespace nocturne::report {
namespace {

constexpr std::size_t kMostGroups = 4;    // of failures: the table of failures has all of them
constexpr std::size_t kMostWarnings = 3;  // of the log: the last ones

std::string trials(std::size_t count) {
  return fmt::format("{} trial{}", count, count == 1 ? "" : "s");
}

void add_failures(const ReportData& data, std::vector<std::string>& wrong) {
  const auto groups = tuner::grouped(data.answer.failures);
  if (groups.empty()) return;
  std::string text =
      fmt::format("{} of {} did not train", trials(data.answer.failures.size()), data.answer.campaign.finished);
  for (std::size_t i = 0; i < std::min(groups.size(), kMostGroups); ++i) {
    text +=
        fmt::format("{} {} {}{}", i == 0 ? ":" : ";", trials(groups[i].trials.size()), outcome_words(groups[i].outcome),
                    groups[i].reason.empty() ? "" : " (" + groups[i].reason + ")");
  }
  if (groups.size() > kMostGroups) text += fmt::format("; {} more reasons", groups.size() - kMostGroups);
  wrong.push_back(text + ".");
}

void add_preflights(const ReportData& data, std::vector<std::string>& wrong) {
  const auto failed = std::ranges::count_if(
      data.preflights, [](const db::PreflightRecord& each) { return each.outcome != space::Outcome::Ok; });
  if (failed > 0)
    wrong.push_back(fmt::format("{} of {} software stacks failed the preflight check and were left out.", failed,
                                data.preflights.size()));
}

void add_stretches(const ReportData& data, std::vector<std::string>& wrong) {
  const auto disturbed = std::ranges::count(data.stretches, Activity::Disturbed, &Stretch::activity);
  const auto interrupted = std::ranges::count(data.stretches, Activity::Interrupted, &Stretch::activity);
  if (disturbed > 0) {
    wrong.push_back(
        fmt::format("{} run{} shared the machine with others that used much of it: what {} measured may be too long.",
                    disturbed, disturbed == 1 ? "" : "s", disturbed == 1 ? "it" : "they"));
  }
  if (interrupted > 0) {
    wrong.push_back(fmt::format("The campaign was interrupted {}; it went on with all that was known.",
                                interrupted == 1 ? "once" : fmt::format("{} times", interrupted)));
  }
}

}  // namespace

std::vector<std::string> what_went_wrong(const ReportData& data) {
  std::vector<std::string> wrong;
  add_failures(data, wrong);
  add_preflights(data, wrong);
  add_stretches(data, wrong);
  std::vector<std::string> warnings;
  for (const db::EventRecord& event : data.events)
    if (event.level != db::Level::Info) warnings.push_back(event.what);
  const auto kept = static_cast<std::ptrdiff_t>(std::min(warnings.size(), kMostWarnings));
  wrong.insert(wrong.end(), warnings.end() - kept, warnings.end());
  wrong.insert(wrong.end(), data.expectations.without.begin(), data.expectations.without.end());
  return wrong;
}

}  // namespace nocturne::report
