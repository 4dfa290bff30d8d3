#include "search/history/agreement.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <vector>

namespace nocturne::search::history {
namespace {

constexpr double kStep = 1e-4;         // log units, for the slope of a target
constexpr double kDegrees = 4;         // of freedom, of differences between then and now
constexpr int kReweightings = 8;       // settles to a thousandth of the standard deviation
constexpr double kNormalMad = 1.4826;  // standard deviations in a median absolute deviation, of a normal
constexpr std::size_t kEnoughToScatter = 3;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

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

Offset offset_of(std::span<const double> differences) {
  Offset offset;
  double scatter = Offset::kLeastSd;
  if (differences.size() >= kEnoughToScatter) {
    const double middle = median({differences.begin(), differences.end()});
    std::vector<double> apart;
    for (const double each : differences) apart.push_back(std::abs(each - middle));
    scatter = std::max(scatter, kNormalMad * median(std::move(apart)));
  }
  for (int i = 0; i < kReweightings; ++i) {
    double precision = 1 / (Offset::kPriorSd * Offset::kPriorSd);
    double sum = 0;
    for (const double each : differences) {
      const double z = (each - offset.mean) / scatter;
      const double weight = (kDegrees + 1) / (kDegrees + z * z) / (scatter * scatter);
      precision += weight;
      sum += weight * each;
    }
    offset = {.mean = sum / precision, .sd = 1 / std::sqrt(precision)};
  }
  return offset;
}

}  // namespace nocturne::search::history
