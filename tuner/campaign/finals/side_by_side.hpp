#pragma once

/// Configurations beside each other because a person asks: each as a trial of the campaign, then each against the first
/// in pairs of fresh processes that are alive together (comparing.hpp, role compare).
///
/// A block holds each candidate once, in an order of its own, so that no candidate has a quieter hour than the others;
/// who is started first alternates from pair to pair. Pairs are judged at looks planned before the first of them
/// (measure/comparison/planned_looks.hpp), and a candidate that is decided is measured no further. What was measured before
/// counts: the same call again goes on where it ended, and does nothing where everything is decided.
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
#include "tuner/campaign/finals/comparing.hpp"
#include "tuner/campaign/sitting.hpp"

namespace nocturne::tuner {

struct SideBySideSettings {
  int pairs = 6;        ///< of each candidate, before the first look
  int most_pairs = 20;  ///< while undecided; no fewer than `pairs`
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
  /// The sitting outlives it; its campaign id is set by run().
  explicit SideBySide(Sitting& sitting) : sitting_(sitting) {}

  /// `sides` are configurations of the sitting's space, the first the reference; none of them twice. One that does not
  /// train becomes a failed trial, and the rest goes on; without the reference nothing is compared. Blocks.
  [[nodiscard]] db::Expected<SideBySideResult> run(std::span<const space::Configuration> sides,
                                                   const SideBySideSettings& settings);

 private:
  struct Candidate {
    const db::StoredTrial* trial;
    Comparing comparing;
  };
  [[nodiscard]] db::Expected<void> compare(const std::vector<db::StoredTrial>& sides);
  [[nodiscard]] db::Expected<std::vector<Candidate>> candidates(const std::vector<db::StoredTrial>& sides);
  /// Where it has fewer than `round` pairs and there is time. False: pair after pair failed, there will be no more.
  [[nodiscard]] db::Expected<bool> add_pair(Candidate& candidate, const db::StoredTrial& reference, std::int64_t round);
  /// Whether the pairs by now are enough; also stores the verdict.
  [[nodiscard]] db::Expected<bool> is_decided(Candidate& candidate, std::span<const measure::Look> plan);
  [[nodiscard]] bool time_for(std::chrono::nanoseconds work);
  [[nodiscard]] bool stopped() const { return result_.out_of_time || sitting_.interruption.requested(); }

  Sitting& sitting_;
  SideBySideSettings settings_;
  SideBySideResult result_;
};

}  // namespace nocturne::tuner
