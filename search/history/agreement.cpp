#include "search/history/agreement.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace nocturne::search::history {
namespace {

constexpr double kStep = 1e-4;    // log units, for the slope of a target
constexpr double kDegrees = 4;    // of freedom, of residuals between then and now
constexpr int kReweightings = 8;  // settles to a thousandth of the standard deviation

}  // namespace

double log_density(const model::Prediction& prediction, double log_value, double extra_sd) {
  const auto& target = prediction.target;
  const double slope = (target.to_model(log_value + kStep) - target.to_model(log_value - kStep)) / (2 * kStep);
  const double sd = std::hypot(prediction.observed_sd * prediction.widening, extra_sd * slope);
  const boost::math::students_t_distribution<double> t(prediction.degrees);
  const double density = boost::math::pdf(t, (target.to_model(log_value) - prediction.mean) / sd);
  return std::log(std::max(density * slope / sd, 1e-300));
}

void Agreement::tell(double log_with, double log_without, bool inside) {
  ++measured_;
  inside_ += inside;
  log_evidence_ = std::max(0.0, log_evidence_) + log_without - log_with - allowance_;
  rejected_ = rejected_ || log_evidence_ >= -std::log(alpha_);
  log_evidence_ = std::max(0.0, log_evidence_);
}

Offset offset_of(std::span<const Residual> residuals) {
  Offset offset;
  for (int i = 0; i < kReweightings; ++i) {
    double precision = 1 / (Offset::kPriorSd * Offset::kPriorSd);
    double sum = 0;
    for (const auto& each : residuals) {
      const double z = (each.value - offset.mean) / each.sd;
      const double weight = (kDegrees + 1) / (kDegrees + z * z) / (each.sd * each.sd);
      precision += weight;
      sum += weight * each.value;
    }
    offset = {.mean = sum / precision, .sd = 1 / std::sqrt(precision)};
  }
  return offset;
}

}  // namespace nocturne::search::history
