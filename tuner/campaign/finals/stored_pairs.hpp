#pragma once

/// The pairs of a comparison as they are stored, and condensed: what its verdicts are computed from, at any horizon.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "db/store.hpp"
#include "measure/comparison/comparison.hpp"
#include "measure/comparison/pair.hpp"
#include "measure/comparison/planned_looks.hpp"
#include "measure/comparison/statistics.hpp"

namespace nocturne::tuner {

struct StoredPairs {
  std::vector<measure::PairParts> pairs;  ///< in the order measured
  std::vector<std::string> nodes;         ///< name of the node of each of them; empty name: not known
  std::vector<std::string> unusable;      ///< a sentence for each pair that cannot be judged
};

/// The comparison of these two in that role, the last where there are several; empty: there is none.
[[nodiscard]] std::optional<db::StoredComparison> find_comparison(const db::Store& store, db::CampaignId campaign,
                                                                  std::string_view role,
                                                                  const space::Configuration& baseline,
                                                                  const space::Configuration& candidate);

/// Schedules: of the baseline and of the candidate.
[[nodiscard]] StoredPairs stored_pairs(const db::Store& store, const db::StoredComparison& comparison,
                                       const measure::Schedule& baseline, const measure::Schedule& candidate);

/// ln(T(baseline) / T(candidate)) of each pair.
[[nodiscard]] std::vector<double> log_ratios_at(const StoredPairs& stored, double epochs);

/// What they say at a horizon, judged with this confidence.
[[nodiscard]] measure::Comparison compare_at(const StoredPairs& stored, double epochs, double margin_percent,
                                             double confidence);

/// The confidence that the interval of a comparison must be asked for where this many pairs (2 or more) were measured
/// with the looks that the policy plans, so that all of them together keep kStatedConfidence
/// (measure/comparison/planned_looks.hpp).
[[nodiscard]] double look_confidence(std::int64_t pairs, const measure::ComparisonPolicy& policy);

/// The candidate's verdict at a horizon; empty with fewer than two pairs.
[[nodiscard]] std::optional<db::VerdictRecord> verdict_at(const StoredPairs& stored, db::ComparisonId comparison,
                                                          double epochs, const measure::ComparisonPolicy& policy);

/// The record of a comparison at a horizon. Its interval is stated with what all looks together keep.
[[nodiscard]] db::VerdictRecord verdict_record(const measure::Comparison& comparison, db::ComparisonId id,
                                               double epochs);

inline constexpr double kStatedConfidence = 1 - measure::kComparisonError;

}  // namespace nocturne::tuner
