#pragma once

/// The charts of the page, in its order: each a pure function of what it shows, a file each. Empty: there is nothing
/// to show.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/comparison/planned_looks.hpp"
#include "measure/gate/loss_band.hpp"
#include "tuner/campaign/answer/expectations.hpp"
#include "tuner/campaign/answer/failure_groups.hpp"
#include "tuner/campaign/answer/ranking.hpp"
#include "tuner/campaign/answer/stored_gain.hpp"
#include "tuner/report/html/chart.hpp"

namespace nocturne::report {

/// Pairs of the best and the default, as they came.
struct PairGains {
  std::vector<double> log_ratios;    ///< ln(T(default) / T(best)) of each pair
  measure::ComparisonPolicy policy;  ///< when they are judged
};
/// The gain of each pair, and the interval of all pairs so far.
[[nodiscard]] std::optional<Chart> pairs_chart(const PairGains& gains);

/// What the best learns beside the default, in points of the test set, and what is allowed.
[[nodiscard]] std::optional<Chart> accuracy_chart(const std::optional<measure::AccuracyDifference>& difference,
                                                  double allowed_points, std::int64_t epochs);

/// What a stretch of the campaign went into.
enum class Activity { Preparing, Trial, FailedTrial, Gate, Pair, Interrupted, Disturbed };
struct Stretch {
  Activity activity = Activity::Trial;
  double from_s = 0, to_s = 0;  ///< since the campaign began
  std::string text{};
  std::optional<std::int64_t> trial{};  ///< instead of a text: whose it is
};
/// When the campaign did what.
[[nodiscard]] std::optional<Chart> timeline_chart(std::span<const Stretch> stretches);

/// How the best came to be found.
struct Convergence {
  struct Found {
    double at_s = 0;     ///< since the campaign began
    double seconds = 0;  ///< of the trial, at the primary horizon
    std::int64_t trial = 0;
    std::string settings{};
  };
  std::vector<Found> trials;              ///< that trained, in the order of their ends
  std::optional<double> default_seconds;  ///< trial 0's
  struct Verified {
    double low = 0, high = 0;     ///< seconds: the default's, with the interval of the gain
    double from_s = 0, to_s = 0;  ///< when its pairs were measured
  };
  std::optional<Verified> verified{};
  /// What another hour of search is expected to gain, log units; with the time at which it would begin.
  std::optional<double> hour_gain{};
  double end_s = 0;     ///< of what is shown
  std::string horizon;  ///< "1 epoch"
};
[[nodiscard]] std::optional<Chart> convergence_chart(const Convergence& convergence);

/// What one other setting would make of the best.
[[nodiscard]] std::optional<Chart> effects_chart(const std::optional<tuner::Matters>& matters);

/// The best that was measured with each value of a parameter. Empty: fewer than two values trained.
[[nodiscard]] std::optional<Chart> ranking_chart(const std::optional<tuner::Ranking>& ranking,
                                                 const std::string& horizon);

/// How long trainings of any length take: a start, and then each epoch.
struct EpochTimes {
  struct Line {
    std::string name;  ///< "trial 22, the best"
    double start_s = 0, epoch_s = 0;
    std::string settings{};
  };
  std::vector<Line> lines;               ///< the default first
  std::vector<double> horizons;          ///< of the campaign, ascending
  std::vector<std::string> break_evens;  ///< sentences, from pairs
};
/// Empty: fewer than two lines.
[[nodiscard]] std::optional<Chart> epochs_chart(const EpochTimes& times);

/// Time against memory.
struct MemoryUse {
  struct Trial {
    double gibibytes = 0, seconds = 0;
    std::int64_t trial = 0;
    std::string settings{};
  };
  std::vector<Trial> trials;
  struct Front {
    std::size_t trial = 0;     ///< position in `trials`
    std::string as_good = {};  ///< numbers of those that cannot be told from it
  };
  std::vector<Front> front;  ///< none is better in both, the fastest first
  std::optional<std::size_t> baseline{}, best{};
  std::string horizon;
};
/// Empty: fewer than two trials.
[[nodiscard]] std::optional<Chart> memory_chart(const MemoryUse& use);

/// How much of what the machine can do the fastest trials reach.
struct Reached {
  struct Row {
    std::int64_t trial = 0;
    double share = 0;  ///< of the possible; above 1: the bound is in doubt
    std::string waits_for, settings;
  };
  std::vector<Row> rows;   ///< the fastest first
  std::string sentence{};  ///< on the best; may be empty
};
[[nodiscard]] std::optional<Chart> possible_chart(const Reached& reached);

/// Step by step, how long training steps took in a process.
struct StepTimes {
  struct Process {
    std::string name;
    std::vector<double> first_step, seconds;  ///< of each sample: its first step, and seconds a step
  };
  std::vector<Process> processes;
  std::string noise{};  ///< what the machine can resolve, a sentence; may be empty
};
[[nodiscard]] std::optional<Chart> steps_chart(const StepTimes& times);

/// What the model predicts of each trial from all others, against what it took.
[[nodiscard]] std::optional<Chart> predictions_chart(std::span<const tuner::LeftOutTrial> trials);

/// Why trials failed.
[[nodiscard]] std::optional<Chart> failures_chart(std::span<const tuner::FailureGroup> groups);

/// One of several campaigns that are shown beside each other.
struct Side {
  std::string name, machine, horizon;
  std::optional<double> default_seconds{}, best_seconds{};
  std::optional<tuner::StoredGain> gain{};  ///< of the best over the default, from pairs
  std::string settings{};                   ///< of the best, that the default has not
};
/// Default and best of each. Empty: nothing trained.
[[nodiscard]] std::optional<Chart> side_times_chart(std::span<const Side> sides);
/// Empty: none has a gain from pairs.
[[nodiscard]] std::optional<Chart> side_gains_chart(std::span<const Side> sides);

}  // namespace nocturne::report
