#pragma once

/// After the search of a campaign that minimises the time to an accuracy: the one that is expected to be there first is
/// trained to the target for real, and so is the default, in fresh processes with seeds that no curve has seen, one
/// after the other. Only that is reported as the gain. The gate comes first, as for every winner.
///
/// Which one that is, single trials say badly: the smallest of many noisy times. So those that may be the first are
/// measured against each other in pairs as in every campaign (role select), each judged by a training of as many epochs
/// as its curve says. Where the trainings call the winner SLOWER, another is chosen while there is time for a verdict.
///
/// Pairs share their seed: that of initial weights and order of data, so that luck is common to both. After
/// kTrainings of them, or as many as there is time for, one verdict is given: nothing is looked at in between.

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "db/store.hpp"
#include "tuner/campaign/curves/learning_curves.hpp"
#include "tuner/campaign/finals/finalist_gate.hpp"
#include "tuner/campaign/finals/finalists.hpp"
#include "tuner/campaign/pacing.hpp"
#include "tuner/campaign/session.hpp"

namespace nocturne::tuner {

/// Trainings of both that a verdict rests on; fewer where time is short, but kFewestVerdictPairs at least.
inline constexpr std::int64_t kTrainings = 5;

class TargetFinals {
 public:
  /// `time`: the campaign's; empty: not bounded by time. `recompose`: called after a curve and after each pair of
  /// trainings, which change the times of all that learn so.
  TargetFinals(const Session& session, std::optional<TimeFrame> time, LearningCurves& curves,
               std::function<void()> recompose)
      : session_(session), time_(time), gate_(session, time), curves_(curves), recompose_(std::move(recompose)) {}

  /// Does only what is missing. Whether everything is there that there was time for; false: interrupted.
  [[nodiscard]] bool run();
  /// Whether there was no time for a verdict.
  [[nodiscard]] bool no_verdict() const { return no_verdict_; }

 private:
  enum class End { Done, Another, Interrupted };
  /// Judges the best by now. Another: it is not the best, or not right.
  [[nodiscard]] End judge_best(const db::StoredTrial& baseline);
  /// One whose trainings an earlier session began, if nothing was found since.
  [[nodiscard]] std::optional<db::StoredTrial> begun(const db::StoredTrial& baseline) const;
  /// The one to be judged, which is not the default; else how the finals go on.
  [[nodiscard]] std::expected<db::StoredTrial, End> choose(const db::StoredTrial& baseline);
  [[nodiscard]] bool has_own_curve(const db::StoredTrial& trial) const;
  /// Epochs that a curve may take at most, for this one of the trials to be faster than the best that has a curve of
  /// its own. Empty: a verdict, for which there is time now, had none after that.
  [[nodiscard]] std::optional<std::int64_t> epochs_to_draw(const db::StoredTrial& baseline,
                                                           std::span<const db::StoredTrial> trials,
                                                           std::span<const std::optional<Belief>> beliefs,
                                                           std::size_t of) const;
  /// Draws the curve of one that was chosen by what others let expect. Another: it counts from now on.
  [[nodiscard]] End draw_its_own(const db::StoredTrial& trial, std::int64_t most_epochs);
  /// Who is there first by these pairs; empty: interrupted, or nobody can be prepared.
  [[nodiscard]] std::optional<db::StoredTrial> race(const db::StoredTrial& baseline,
                                                    const std::vector<db::StoredTrial>& trials,
                                                    const std::vector<Finalist>& finalists, int pairs);
  /// That fit into the time beside all trainings of the verdict.
  [[nodiscard]] int pairs_to_choose(const db::StoredTrial& baseline, const db::StoredTrial& fastest) const;
  [[nodiscard]] End train_pairs(const db::StoredTrial& baseline, const db::StoredTrial& candidate);
  /// The pairs that are stored.
  [[nodiscard]] db::StoredComparison comparison_of(const db::StoredTrial& baseline, const db::StoredTrial& candidate);
  enum class Trained { Stored, Missed, NoBaseline, Interrupted };
  /// Missed: the candidate did not get to the target.
  [[nodiscard]] Trained train_pair(const db::StoredTrial& baseline, const db::StoredTrial& candidate,
                                   db::ComparisonId comparison, std::int64_t index);
  /// A training to the target. Without an outcome Ok it did not get there.
  [[nodiscard]] std::optional<db::RunRecord> train(const db::StoredTrial& trial, std::int64_t index);
  [[nodiscard]] End save_verdict(const db::StoredTrial& candidate, const db::StoredComparison& comparison);
  /// It does not reach the target: neither the search nor a later session takes it for the best again.
  void refuse(const db::StoredTrial& trial, const std::string& why);
  /// Whether so many trainings of both are over in time, with what comes before.
  [[nodiscard]] bool has_time(const db::StoredTrial& baseline, const db::StoredTrial& candidate, std::int64_t trainings,
                              std::chrono::nanoseconds before = {}) const;

  const Session& session_;
  std::optional<TimeFrame> time_;
  FinalistGate gate_;
  LearningCurves& curves_;
  std::function<void()> recompose_;
  bool no_verdict_ = false;
  int judged_ = 0;  ///< winners that had a verdict
};

/// Seeds of the finals' trainings lie so far behind those of curves.
inline constexpr std::uint64_t kFreshSeeds = 1'000'000;

/// ln(T(default) / T(candidate)) to the target of each pair of the comparison. One whose baseline did not get there
/// counts with what it took in vain: the candidate is faster than that.
[[nodiscard]] std::vector<double> target_log_ratios(const db::Store& store, const db::StoredComparison& comparison,
                                                    double accuracy);

}  // namespace nocturne::tuner
