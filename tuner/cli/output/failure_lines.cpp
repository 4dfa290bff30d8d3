#include "tuner/cli/output/failure_lines.hpp"

#include <algorithm>
#include <ostream>

#include <fmt/format.h>

#include "tuner/cli/choice/campaign_choice.hpp"
#include "tuner/cli/output/command_line.hpp"
#include "tuner/cli/output/format.hpp"
#include "tuner/installation/invocation.hpp"

namespace nocturne::cli {
namespace {

constexpr std::size_t kFailureGroups = 3;        // lines of reasons: the page is one screen
constexpr std::size_t kFailureNumbers = 4;       // of a group's trials
constexpr std::size_t kFailureReasonWidth = 90;  // characters

/// "trial 4", "trials 4, 7", "91 trials (16, 17, 48, 49, …)"
std::string trials_text(const FailureGroup& group) {
  if (group.trials.size() == 1) return fmt::format("trial {}", group.trials.front());
  const auto named = std::span(group.trials).first(std::min(kFailureNumbers, group.trials.size()));
  const std::string numbers = fmt::format("{}", fmt::join(named, ", "));
  if (named.size() == group.trials.size()) return "trials " + numbers;
  return fmt::format("{} trials ({}, …)", group.trials.size(), numbers);
}

}  // namespace

std::vector<FailureGroup> grouped(std::span<const db::StoredTrial> failures) {
  std::vector<FailureGroup> groups;
  for (const db::StoredTrial& each : failures) {
    const space::Trial& trial = each.trial;
    const auto same = std::ranges::find_if(groups, [&](const FailureGroup& group) {
      return group.outcome == trial.outcome && group.reason == trial.reason;
    });
    if (same != groups.end()) {
      same->trials.push_back(trial.number);
    } else {
      groups.push_back({.outcome = trial.outcome, .reason = trial.reason, .trials = {trial.number}});
    }
  }
  return groups;
}

void print_failures(const Context& context, const tuner::Answer& answer) {
  std::ostream& out = *context.out;
  std::int64_t all = 0;
  std::string counts;
  for (const auto& [outcome, count] : answer.outcomes) {
    all += count;
    counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count, space::to_text(outcome));
  }
  out << fmt::format("Tried     {} configuration{}: {}\n", all, all == 1 ? "" : "s", counts);
  const std::vector<FailureGroup> groups = grouped(answer.failures);
  std::size_t left = answer.failures.size();
  for (const FailureGroup& group : std::span(groups).first(std::min(kFailureGroups, groups.size()))) {
    left -= group.trials.size();
    out << fmt::format("          {}: {}: {}\n", trials_text(group), space::to_text(group.outcome),
                       shortened(one_line(group.reason), kFailureReasonWidth));
  }
  if (answer.failures.size() < 2) return;
  out << fmt::format("          {}:\n", left > 0 ? fmt::format("and {} more", left) : "all of them");
  print_command(context, "",
                tuner::command_text("list", fmt::format("trials {} --outcome failed", words_for(answer.campaign))));
}

}  // namespace nocturne::cli
