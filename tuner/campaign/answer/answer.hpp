#pragma once

/// What a campaign knows by now, read from the database alone: the page that `tune` ends with and `best` prints.
/// Valid at every moment of a campaign, verified or not.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "db/store.hpp"
#include "measure/accuracy/time_to_accuracy.hpp"
#include "measure/comparison/comparison.hpp"
#include "measure/comparison/data_wait.hpp"
#include "space/objective.hpp"
#include "space/outcome.hpp"
#include "tuner/campaign/answer/default_settings.hpp"
#include "tuner/campaign/answer/judged_learning.hpp"
#include "tuner/campaign/answer/ranking.hpp"
#include "tuner/campaign/answer/stored_gain.hpp"
#include "tuner/campaign/stored_document.hpp"

namespace nocturne::tuner {

/// What learning curves say, where the time to an accuracy is minimised, and trainings to the target.
struct TargetAnswer {
  double accuracy = 0;         ///< the target
  std::int64_t curves = 0;     ///< that were drawn
  double curves_seconds = 0;   ///< that they took
  std::int64_t trainings = 0;  ///< of the finals
  struct Side {
    measure::EpochsToTarget epochs;
    measure::TimeToAccuracy time;
  };
  std::optional<Side> baseline, best;  ///< empty: it did not train
  /// Pairs of both that were trained to the target.
  struct Trained {
    std::vector<double> baseline_epochs, best_epochs;  ///< until they were there
    measure::Comparison epoch;                         ///< of the time of an epoch alone
  };
  std::optional<Trained> trained{};  ///< empty: there are none
};

/// What another hour of pairs with the default would tell: so small a gain, with the usual power (measure::Power).
struct NextHour {
  int pairs = 0;
  double resolution_percent = 0;
};

/// How many processes an answer took.
struct Price {
  std::int64_t search = 0;              ///< trials
  std::int64_t references = 0;          ///< of the default, in turns with those
  std::int64_t choice = 0;              ///< pairs of finalists, and of the winner with one of fewer changes
  std::int64_t verdict = 0;             ///< pairs with the default
  std::int64_t gate = 0;                ///< whether they train rightly, and their accuracy
  std::optional<NextHour> next_hour{};  ///< empty: there is no verdict yet, or a pair takes longer
};

/// Nodes of one class, or parts of them that measure by themselves, where the pairs of a verdict were measured on
/// several.
struct VerdictNodes {
  int nodes = 0;
  std::string called{"nodes"};  ///< or "GPUs", "memory nodes"
  bool differs = false;         ///< the gain differs between them by more than noise
};

struct Answer {
  db::CampaignSummary campaign;
  space::Objective objective;
  std::optional<db::StoredTrial> baseline;  ///< the default: trial 0, once finished
  /// As the finals chose, or, where that is still to come, the smallest estimate; may be the default itself.
  std::optional<db::StoredTrial> best;
  std::vector<Change> changes;                     ///< best against baseline
  std::optional<db::StoredComparison> comparison;  ///< the latest of best with baseline
  std::optional<db::VerdictRecord> verdict;        ///< its verdict at the primary horizon
  /// What the user's own pairs of both say (compare --measure), where they are more than the verdict's. They are no
  /// verdict: nothing has checked how best trains, and the user may have looked at them as often as they liked.
  std::optional<StoredGain> compared{};
  std::optional<VerdictNodes> nodes{};                              ///< empty: one machine measured its pairs
  std::optional<space::Accuracy> baseline_accuracy, best_accuracy;  ///< on the test set, after `accuracy_epochs`
  std::int64_t accuracy_epochs = 0;
  double accuracy_margin = 0;  ///< points (percent of the images) that the best may learn less
  std::optional<measure::DataWait> baseline_wait, best_wait;  ///< measured in the trials' own runs
  std::optional<JudgedLearning> learning;  ///< judgement of best, where it is a changed script of the user's own
  std::map<std::string, double> baseline_share,
      best_share;  ///< shares of a step's time (space::kStepParts), where they are known
  std::map<space::Outcome, std::int64_t> outcomes;  ///< how many finished trials ended so
  Price price{};
  std::vector<db::StoredTrial> failures;  ///< finished and not ok: wrong ones, then by number
  std::optional<TargetAnswer> target;     ///< empty: another objective, or nothing is known of the target yet
  std::optional<Ranking> ranking;         ///< ranks the environments (frameworks), where there is a choice

  /// Whether best is faster than the default beyond doubt, measured again.
  [[nodiscard]] bool verified_faster() const;
};

/// The answer at the campaign's own primary horizon, or for other horizons (`epochs`): the best is then the one with
/// the smallest T(epochs), composed of the parts of each trial, and the verdict, where it was compared, what the pairs
/// say at that horizon.
[[nodiscard]] Answer answer_of(const db::Store& store, const db::CampaignSummary& campaign,
                               std::optional<double> epochs = {});

/// Which of the campaign's comparisons is that of the answer's best with its default, its verdict at the primary
/// horizon, and what the user's own say; none where there is no default. REQUIRES: it has a best.
void take_comparison(std::vector<db::StoredComparison> comparisons, Answer& answer);

/// What learning curves and the trial's own times say of a training to the target. Empty: another objective, or nothing
/// is known of the target or of the trial's times.
[[nodiscard]] std::optional<TargetAnswer::Side> expected_training(const db::Store& store,
                                                                  const db::CampaignSummary& campaign,
                                                                  const space::Trial& trial);

/// Whether this run is the epochs that a finalist trains before its accuracy is read.
[[nodiscard]] bool trained_for_accuracy(const space::Run& run, std::int64_t epochs);

/// Runs of search and audit that ended well: what the trial's estimate is made of.
[[nodiscard]] std::vector<space::Run> searched_runs(const db::TrialDetail& detail);

/// How long the trial's steps wait for data, over searched_runs(). Empty: none has samples.
[[nodiscard]] std::optional<measure::DataWait> data_wait_of(const db::TrialDetail& detail);

/// What the time of the trial's steps goes into, over the same runs: part → share. Empty: no run says so.
[[nodiscard]] std::map<std::string, double> step_share_of(const db::TrialDetail& detail);

/// Whether T(epochs) of a trial is computed: fewer steps were timed than it has. A process that was timed as a whole,
/// which has no steps, is measured.
[[nodiscard]] bool is_extrapolated(const space::Trial& trial, double epochs);

/// Gain of the candidate over the baseline in percent, from a log ratio ln(T(candidate) / T(baseline)):
/// 100 · (exp(−log_ratio) − 1); 100 means twice as fast.
[[nodiscard]] double gain_percent(double log_ratio);

}  // namespace nocturne::tuner
