#pragma once

/// What is minimised: the time of N epochs, composed of parts that are measured apart.
///
///   T(N) = import + data + compile + first_step_excess + N · (epoch_overhead + steps_per_epoch · steady_step)
///
/// Or the time until a network is as accurate as wanted. How many epochs that takes depends on what learns (batch size,
/// precision, …), so there the parts are not those of an epoch but of one *training to the target*, which is the one
/// horizon N = 1: steps_per_epoch are the steps to the target, epoch_overhead is that of all its epochs (per_training).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nocturne::space {

/// How accurate is accurate enough, where the time until then is minimised.
struct AccuracyTarget {
  std::optional<double> accuracy{};   ///< on the test set, 0 to 1; empty: as the default reaches
  double default_epochs = 0;          ///< after so many epochs; read where `accuracy` is empty
  std::int64_t most_epochs = 30;      ///< a training that is not there by then is given up
  std::int64_t points_per_epoch = 4;  ///< evaluations; MNIST needs one to three epochs, so whole ones would say nothing
  std::vector<std::string> learning_parameters;  ///< on whose values the epochs to the target depend, and no others
  friend bool operator==(const AccuracyTarget&, const AccuracyTarget&) = default;
};

struct Objective {
  std::string minimise = "time";
  std::vector<double> epochs = {1, 12, 90};  ///< the horizons N, ascending
  double primary = 12;                       ///< the horizon that search and verdict use; one of `epochs`
  std::optional<AccuracyTarget> target{};  ///< minimise == "time_to_accuracy": then `epochs` is 1, and so is `primary`
  friend bool operator==(const Objective&, const Objective&) = default;
};

/// The parts of T(N), in seconds.
struct Parts {
  double import = 0;
  double data = 0;
  double compile = 0;
  double first_step_excess = 0;  ///< first step less a steady one
  double epoch_overhead = 0;
  double steps_per_epoch = 0;  ///< a count; fractional where the partial batch is trained
  double steady_step = 0;
  friend bool operator==(const Parts&, const Parts&) = default;
};

/// Parts of one training that takes so many epochs, from those of an epoch; or from those of a training that was
/// thought to take another number of them. `steps_per_epoch`: of an epoch itself, above 0.
[[nodiscard]] Parts per_training(const Parts& parts, double steps_per_epoch, double epochs);
/// What comes before the steady steps, in seconds: import + data + compile + first_step_excess.
[[nodiscard]] double startup_time(const Parts& parts);
/// T(N) in seconds.
[[nodiscard]] double total_time(const Parts& parts, double epochs);

}  // namespace nocturne::space
