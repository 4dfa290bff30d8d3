#include "tuner/deploy/step_forecast.hpp"

#include <cmath>
#include <vector>

#include "search/model/student.hpp"
#include "space/moments.hpp"

namespace nocturne::deploy {

double StepForecast::limit() const {
  const double quantile = search::model::student_quantile(degrees, (1 + kForecastConfidence) / 2);
  return seconds * std::exp(quantile * sd * std::sqrt(1 + 1.0 / processes));
}

std::optional<StepForecast> forecast_step(std::span<const double> steady_steps, double process_sd) {
  std::vector<double> logs;
  for (const double step : steady_steps)
    if (step > 0 && std::isfinite(step)) logs.push_back(std::log(step));
  if (logs.empty()) return std::nullopt;
  const space::Moments moments = space::moments_of(logs);
  const double degrees = kPriorDegrees + static_cast<double>(moments.count) - 1;
  const double sd = std::sqrt((kPriorDegrees * process_sd * process_sd + moments.squares) / degrees);
  if (sd > kMostSd) return std::nullopt;
  return StepForecast{
      .seconds = std::exp(moments.mean), .sd = sd, .degrees = degrees, .processes = static_cast<int>(moments.count)};
}

}  // namespace nocturne::deploy
