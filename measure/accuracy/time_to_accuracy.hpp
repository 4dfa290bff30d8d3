#pragma once

/// How long until a network is as accurate as wanted? From learning curves, and from the times of start-up and epochs.
/// Pure: no clock, no files.
///
///   time to accuracy = start-up + epochs to the target · time of an epoch
///
/// Epochs to the target depend on what learns alone (batch size, precision, optimizer, learning-rate rule), times on
/// everything: so curves of one configuration serve all that learn alike. As in DAWNBench (C. Coleman and others, SysML
/// 2018) and MLPerf (P. Mattson and others, MLSys 2020) a training is over at the first evaluation that reaches the
/// target. What lies between two evaluations is not seen, and a curve that ends below the target says only that it
/// takes longer. So the epochs X at which a training would be seen to cross are log-normal over seeds,
///
///   ln X ~ N(μ, σ²),
///
/// of which each curve gives an interval: (last evaluation below, first one at the target], or (its end, ∞) where it
/// is censored. The posterior of μ and σ is taken on a grid; a training is then over at the first evaluation from X on.

#include <optional>
#include <span>
#include <vector>

#include "space/run.hpp"

namespace nocturne::measure {

/// Where a learning curve reached the target.
struct Crossing {
  double below = 0;               ///< epochs after which it was still below, seen last; 0: it never was
  std::optional<double> reached;  ///< epochs of the first evaluation at the target; empty: it ended before (censored)
  friend bool operator==(const Crossing&, const Crossing&) = default;
};

/// Empty: the run has no curve. `accuracy`: the target, 0 to 1. `steps_per_epoch` > 0.
[[nodiscard]] std::optional<Crossing> crossing_of(const space::Run& run, double accuracy, double steps_per_epoch);

/// What a training took until it was so accurate: its phases before the first step, and its steps. Evaluations are not
/// in it. Empty: it never was.
[[nodiscard]] std::optional<double> seconds_to_accuracy(const space::Run& run, double accuracy);

/// What an epoch took on average, evaluations not counted. Empty: the run timed no step. `steps_per_epoch` > 0.
[[nodiscard]] std::optional<double> seconds_of_epoch(const space::Run& run, double steps_per_epoch);

/// What is thought of the epochs before any curve is seen.
struct EpochsPrior {
  double log_mean = 1.1;  ///< of μ: three epochs
  double log_sd = 1.2;    ///< wide: from a third to thirty, 95 %
  double scatter = 0.2;   ///< of σ, its median
  double scatter_log_sd = 0.6;
};

/// In epochs, seen at evaluations.
struct EpochsToTarget {
  double mean = 0;                     ///< of a training
  double low = 0, high = 0;            ///< 90 % interval of `mean`
  double log_sd = 0;                   ///< standard deviation of ln mean
  double next_low = 0, next_high = 0;  ///< 90 % interval of one further training
  int reached = 0, censored = 0;       ///< curves
};

/// `points_per_epoch`: evaluations an epoch. Without crossings it is what the prior says.
[[nodiscard]] EpochsToTarget epochs_to_target(std::span<const Crossing> crossings, double points_per_epoch,
                                              const EpochsPrior& prior = {});

/// What a configuration's trial says of its times.
struct EpochTimes {
  double startup = 0;  ///< seconds
  double epoch = 0;    ///< seconds, evaluations not counted
  double log_sd = 0;   ///< of a process's times, by chance
};

struct TimeToAccuracy {
  double seconds = 0;                  ///< on average
  double low = 0, high = 0;            ///< 90 % interval of `seconds`
  double next_low = 0, next_high = 0;  ///< 90 % interval of one further training
};

/// Composed of both, whose errors are independent.
[[nodiscard]] TimeToAccuracy time_to_accuracy(const EpochTimes& times, const EpochsToTarget& epochs);

}  // namespace nocturne::measure
