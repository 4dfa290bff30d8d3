#pragma once

/// What a training step of one new process takes, from the processes that were measured. Pure.
///
/// ln of a process's steady step is taken as normal. Its mean is not known; its standard deviation is known by what the
/// machine's noise says, worth kPriorDegrees degrees of freedom, and by the scatter of the n processes themselves. A
/// new process then has Student's t about their mean y, with
///
///     ν = kPriorDegrees + n − 1,   ν · sd² = kPriorDegrees · process_sd² + Σ (y_i − y)²,   scale sd · √(1 + 1/n)
///
/// (Gelman et al., Bayesian Data Analysis, 3rd edition, section 3.3: normal data with a conjugate prior).

#include <optional>
#include <span>

namespace nocturne::deploy {

inline constexpr double kPriorDegrees = 4;
/// Of ln: with more scatter than this between processes nothing is expected of another one.
inline constexpr double kMostSd = 1;
/// Of the interval in which the step of a new process is expected.
inline constexpr double kForecastConfidence = 0.999;

struct StepForecast {
  double seconds = 0;  ///< a step: exp(y)
  double sd = 0;       ///< of ln of a process's step, between processes
  double degrees = 0;  ///< degrees of freedom of sd
  int processes = 0;   ///< n
  /// Upper end of the two-sided interval of kForecastConfidence for one new process, in seconds.
  [[nodiscard]] double limit() const;
  friend bool operator==(const StepForecast&, const StepForecast&) = default;
};

/// `steady_steps`: seconds, one a process; what is not above 0 is left out. `process_sd`: of ln, of this machine.
/// Empty: there is none, or they scatter beyond kMostSd.
[[nodiscard]] std::optional<StepForecast> forecast_step(std::span<const double> steady_steps, double process_sd);

}  // namespace nocturne::deploy
