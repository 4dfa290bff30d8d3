#pragma once

/// Two configurations of a campaign in pairs of fresh processes that are alive together: measured, stored, judged. What
/// an earlier sitting measured counts.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "db/store.hpp"
#include "measure/comparison/comparison.hpp"
#include "tuner/campaign/finals/pair_method.hpp"
#include "tuner/campaign/finals/stored_pairs.hpp"
#include "tuner/campaign/sitting.hpp"

namespace nocturne::tuner {

/// What a comparison is for (db::ComparisonRecord::role).
inline constexpr const char* kSelectRole = "select";      ///< its pairs choose the winner
inline constexpr const char* kSimplifyRole = "simplify";  ///< the winner against one with fewer changes
inline constexpr const char* kVerifyRole = "verify";      ///< its pairs are reported, and chose nothing
inline constexpr const char* kCompareRole = "compare";    ///< a person asked (side_by_side.hpp)

class Comparing {
 public:
  /// Trials, sitting and their program outlive this. Empty: one of both cannot be prepared any more (told to the
  /// observer). An error, too, where a disk is too full to prepare it.
  [[nodiscard]] static db::Expected<std::optional<Comparing>> open(const Sitting& sitting,
                                                                   const db::StoredTrial& baseline,
                                                                   const db::StoredTrial& candidate, std::string role);

  /// Complete pairs that are stored.
  [[nodiscard]] std::int64_t pairs() const { return pairs_; }
  /// Of the pairs measured in this sitting, on average; zero: none yet.
  [[nodiscard]] std::chrono::nanoseconds pair_time() const;

  /// Measures pairs until `wanted` are stored. False: interrupted, the slot cannot be had, or too many pairs failed.
  [[nodiscard]] db::Expected<bool> measure_up_to(std::int64_t wanted);

  /// ln(T(baseline) / T(candidate)) of each stored pair, for each horizon of the objective.
  [[nodiscard]] db::Expected<std::vector<std::vector<double>>> ratios() const;

  /// Of the primary horizon among the objective's.
  [[nodiscard]] std::size_t primary_horizon() const;

  /// What the pairs say at the primary horizon; the verdicts of all horizons are stored, as intervals of
  /// `stated_confidence` (which planned looks keep although each asks for more: measure/comparison/planned_looks.hpp).
  /// Empty: too few pairs.
  [[nodiscard]] db::Expected<std::optional<measure::Comparison>> judge(double confidence, double stated_confidence);

 private:
  Comparing(const Sitting& sitting, const db::StoredTrial& baseline, const db::StoredTrial& candidate,
            Prepared prepared_baseline, Prepared prepared_candidate);
  /// How the pairs of a comparison that begins now are measured; said to the observer where not as the campaign wants.
  [[nodiscard]] PairMethodChoice choose_method() const;
  enum class PairEnd {
    Stored,
    Failed,
    Lost,  ///< to a suspension, an interruption or another hand's kill: no word about the configurations
  };
  [[nodiscard]] db::Expected<PairEnd> measure_pair();

  const Sitting* sitting_;
  const db::StoredTrial* baseline_;
  const db::StoredTrial* candidate_;
  Prepared prepared_baseline_, prepared_candidate_;
  measure::PairMethod method_ = measure::PairMethod::Slices;
  measure::StepEstimator estimator_ = measure::StepEstimator::Paired;
  db::ComparisonId id_ = 0;
  std::int64_t pairs_ = 0, next_index_ = 0;
  std::int64_t measured_ = 0;
  std::chrono::nanoseconds spent_{};
};

}  // namespace nocturne::tuner
