#include "search/model/prediction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "search/model/student.hpp"
#include "space/normal_distribution.hpp"

namespace nocturne::search::model {
namespace {

constexpr double kStep = 1e-3;  // standard deviations, for the slope of the target's inverse

double slope(const Target& target, double mean, double sd) {
  const double step = kStep * sd;
  return step > 0 ? (target.to_log(mean + step) - target.to_log(mean - step)) / (2 * kStep) : 0;
}

double percent(double log_ratio) {
  return 100 * std::expm1(std::abs(log_ratio));
}

std::string number_text(double percents) {
  return fmt::format("{:.{}f}", percents, percents < 9.95 ? 1 : 0);
}

}  // namespace

Target Target::fit(std::span<const double> log_values, double knee_quantile) {
  std::vector<double> sorted(log_values.begin(), log_values.end());
  Target target;
  const auto place = static_cast<std::size_t>(static_cast<double>(sorted.size()) * knee_quantile);
  target.knee = sorted[std::min(std::max<std::size_t>(place, 1), sorted.size() - 1)];
  target.softness = std::max(target.knee - sorted.front(), 1e-3);  // equal times: a thousandth is noise
  double sum = 0;
  for (auto& each : sorted) sum += each = target.to_model(each);
  target.centre = sum / static_cast<double>(sorted.size());
  double squares = 0;
  for (const auto each : sorted) squares += (each - target.centre) * (each - target.centre);
  const double spread = std::sqrt(squares / static_cast<double>(sorted.size()));
  target.scale = spread > 1e-9 ? spread : 1;
  return target;
}

double Target::to_model(double log_value) const {
  const double above = log_value - knee;
  const double bent = above > 0 ? knee + softness * std::log1p(above / softness) : log_value;
  return (bent - centre) / scale;
}

double Target::to_log(double model_value) const {
  const double bent = centre + scale * model_value;
  const double above = bent - knee;
  // e^30 times the spread is beyond any measurement; keeps the result finite.
  return above > 0 ? knee + softness * std::expm1(std::min(above / softness, 30.0)) : bent;
}

double Prediction::log_quantile(double probability, double extra) const {
  return target.to_log(mean + student_quantile(degrees, probability) * observed_sd * widening * extra);
}

Interval Prediction::log_interval(double confidence, double extra) const {
  return {.lower = log_quantile((1 - confidence) / 2, extra), .upper = log_quantile((1 + confidence) / 2, extra)};
}

double Prediction::log_observed_sd() const {
  return slope(target, mean, observed_sd);
}

double bold_improvement(double mean, double sd, double best) {
  constexpr double kBoldness = 1.5;
  return space::expected_improvement(mean, kBoldness * sd, best);
}

std::string ratio_text(double log_ratio) {
  return fmt::format("{} % {}", number_text(percent(log_ratio)), log_ratio < 0 ? "faster" : "slower");
}

std::string contrast_text(double mean, const Interval& interval, const std::string& reference) {
  const bool decided = (interval.lower < 0) == (interval.upper < 0);
  // The end nearer to no effect comes first.
  const double near = mean < 0 ? interval.upper : interval.lower;
  const double far = mean < 0 ? interval.lower : interval.upper;
  const auto range = decided ? fmt::format("{} to {} %", number_text(percent(near)), number_text(percent(far)))
                             : fmt::format("{} to {}", ratio_text(interval.lower), ratio_text(interval.upper));
  return fmt::format("{} than {} ({})", ratio_text(mean), reference, range);
}

}  // namespace nocturne::search::model
