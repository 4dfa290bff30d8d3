#include "search/model/prediction.hpp"

#include <cmath>

#include "search/model/student.hpp"

namespace nocturne::search::model {
namespace {

constexpr double kStep = 1e-3;  // standard deviations, for the slope of the target's inverse

double slope(const Target& target, double mean, double sd) {
  const double step = kStep * sd;
  return step > 0 ? (target.to_log(mean + step) - target.to_log(mean - step)) / (2 * kStep) : 0;
}

}  // namespace

double Prediction::log_quantile(double probability, double extra) const {
  return target.to_log(mean + student_quantile(degrees, probability) * observed_sd * widening * extra);
}

Interval Prediction::log_interval(double confidence, double extra) const {
  return {.lower = log_quantile((1 - confidence) / 2, extra), .upper = log_quantile((1 + confidence) / 2, extra)};
}

double Prediction::log_observed_sd() const {
  return slope(target, mean, observed_sd);
}

}  // namespace nocturne::search::model
