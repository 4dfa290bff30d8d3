#include "tuner/campaign/answer/failure_groups.hpp"

#include <algorithm>

namespace nocturne::tuner {

std::vector<FailureGroup> grouped(std::span<const db::StoredTrial> failures) {
  std::vector<FailureGroup> groups;
  for (const db::StoredTrial& each : failures) {
    const space::Trial& trial = each.trial;
    const auto same = std::ranges::find_if(groups, [&](const FailureGroup& group) {
      // By the whole reason: a hundred trials that fail alike are one finding.
      return group.outcome == trial.outcome && group.reason == trial.reason;
    });
    if (same != groups.end())
      same->trials.push_back(trial.number);
    else
      groups.push_back({.outcome = trial.outcome, .reason = trial.reason, .trials = {trial.number}});
  }
  return groups;
}

}  // namespace nocturne::tuner
