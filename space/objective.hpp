#pragma once

/// What is minimised: the time of N epochs, composed of parts that are measured apart.
///
///   T(N) = import + data + compile + first_step_excess + N · (epoch_overhead + steps_per_epoch · steady_step)

#include <string>
#include <vector>

namespace nocturne::space {

struct Objective {
  std::string minimise = "time";
  std::vector<double> epochs = {1, 12, 90};  ///< the horizons N, ascending
  double primary = 12;                       ///< the horizon that search and verdict use; one of `epochs`
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

/// What comes before the steady steps, in seconds: import + data + compile + first_step_excess.
[[nodiscard]] double startup_time(const Parts& parts);
/// T(N) in seconds.
[[nodiscard]] double total_time(const Parts& parts, double epochs);

}  // namespace nocturne::space
