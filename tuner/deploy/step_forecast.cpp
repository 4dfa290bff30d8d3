#include "tuner/deploy/step_forecast.hpp"

#include <cmath>
#include <vector>

#include "search/model/student.hpp"

namespace nocturne::deploy {

double StepForecast::limit() const {
  const double quantile = search::model::student_quantile(degrees, (1 + kForecastConfidence) / 2);
  return seconds * std::exp(quantile * sd * std::sqrt(1 + 1.0 / processes));
}

std::optional<StepForecast> forecast_step(std::span<const double> steady_steps, double process_sd) {
  std::vector<double> logs;
  double sum = 0;
  for (const double step : steady_steps) {
    if (!(step > 0) || !std::isfinite(step)) continue;
    logs.push_back(std::log(step));
    sum += logs.back();
  }
  if (logs.empty()) return std::nullopt;
  const double count = static_cast<double>(logs.size());
  const double mean = sum / count;
  double squares = kPriorDegrees * process_sd * process_sd;
  for (const double each : logs) squares += (each - mean) * (each - mean);
  const double degrees = kPriorDegrees + count - 1;
  const double sd = std::sqrt(squares / degrees);
  if (sd > kMostSd) return std::nullopt;
  return StepForecast{
      .seconds = std::exp(mean), .sd = sd, .degrees = degrees, .processes = static_cast<int>(logs.size())};
}

}  // namespace nocturne::deploy
