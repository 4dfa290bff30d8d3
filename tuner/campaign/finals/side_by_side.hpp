#pragma once

/// Configurations beside each other because the user asks: each as a trial of the campaign, then each against the first
/// in pairs of fresh processes that are alive together (comparing.hpp, role compare).
///
/// The candidates are one family (measure/comparison/sequential_comparison.hpp): that any verdict is wrong has a chance
/// of 5 %. What was measured before counts: the same call again goes on where it ended, and does nothing where
/// everything is decided.
///
/// The campaign stays as it was but for these trials (named_trials.hpp).

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "db/store.hpp"
#include "measure/comparison/planned_looks.hpp"
#include "tuner/campaign/session.hpp"

namespace nocturne::tuner {

struct SideBySideSettings {
  measure::ComparisonPolicy policy{};  ///< the margin is the campaign's
  /// No trial and no pair is begun that is expected to end later. Empty: not bounded by time.
  std::optional<std::chrono::steady_clock::time_point> end{};
};

struct SideBySideResult {
  db::CampaignId campaign = 0;
  bool interrupted = false;
  bool out_of_time = false;  ///< something was left undone for want of time
};

class SideBySide {
 public:
  /// The session outlives it; its campaign id is set by run().
  explicit SideBySide(Session& session) : session_(session) {}

  /// `sides` are configurations of the session's space, the first the reference; none of them twice. One that does not
  /// train becomes a failed trial, and the rest goes on; without the reference nothing is compared. Blocks.
  [[nodiscard]] SideBySideResult run(std::span<const space::Configuration> sides, const SideBySideSettings& settings);

 private:
  void compare(const std::vector<db::StoredTrial>& sides);
  [[nodiscard]] bool time_for(std::chrono::nanoseconds work);
  [[nodiscard]] bool stopped() const { return result_.out_of_time || session_.interruption.requested(); }

  Session& session_;
  SideBySideSettings settings_;
  SideBySideResult result_;
};

}  // namespace nocturne::tuner
