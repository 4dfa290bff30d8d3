#include "search/model/horizon_prediction.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "search/model/linear_model.hpp"
#include "search/model/physics.hpp"
#include "search/model/student.hpp"

namespace nocturne::search::model {
namespace {

constexpr double kTail = 0.05;

PartPrediction part(double times, const Prediction& prediction) {
  return {
      .times = times, .log_mean = prediction.log_mean(), .log_sd = prediction.log_observed_sd() * prediction.widening};
}

}  // namespace

void ObjectiveForecast::predict_horizons(space::Point point, double widening, std::span<HorizonPrediction> result) {
  const auto prediction = model_.predict(point);
  result[0] = {.log_mean = prediction.log_mean(),
               .log_optimistic = prediction.log_quantile(kTail, widening),
               .log_pessimistic = prediction.log_quantile(1 - kTail, widening),
               .log_extreme = prediction.log_quantile(kExtreme, widening)};
}

LogTime compose(std::span<const PartPrediction> parts) {
  double total = 0;
  for (const auto& each : parts) total += each.times * std::exp(each.log_mean);
  double variance = 0;
  for (const auto& each : parts) variance += std::pow(each.times * std::exp(each.log_mean) / total * each.log_sd, 2);
  return {.log_mean = std::log(total), .log_sd = std::sqrt(variance)};
}

PartsForecast::PartsForecast(space::Lattice& lattice, std::vector<double> horizons, const Roles& roles,
                             const WorkBound& bound)
    : epochs_(std::move(horizons)),
      startup_(lattice, {}, startup_features(lattice, roles)),
      overhead_(lattice, {}),
      steps_(lattice, {}, step_features(lattice, roles, bound)) {}

void PartsForecast::tell(space::Point point, const space::Parts& parts) {
  const auto logarithm = [](double seconds) { return std::log(std::max(seconds, kLeast)); };
  startup_.tell(point, logarithm(space::startup_time(parts)));
  overhead_.tell(point, logarithm(parts.epoch_overhead));
  steps_.tell(point, logarithm(parts.steps_per_epoch * parts.steady_step));
}

void PartsForecast::forget(space::Point point) {
  for (auto* model : {&startup_, &overhead_, &steps_}) model->forget(point);
}

void PartsForecast::fit_if_due() {
  if (fit_is_due(size(), fitted_)) fit();
}

void PartsForecast::fit() {
  fitted_ = size();
  for (auto* model : {&startup_, &overhead_, &steps_}) model->fit();
}

void PartsForecast::predict_horizons(space::Point point, double widening, std::span<HorizonPrediction> result) {
  const std::array predictions = {startup_.predict(point), overhead_.predict(point), steps_.predict(point)};
  double degrees = predictions[0].degrees;
  for (const auto& each : predictions) degrees = std::min(degrees, each.degrees);
  const double reach = student_quantile(degrees, 1 - kTail) * widening;
  const double far = -student_quantile(degrees, kExtreme) * widening;
  for (std::size_t i = 0; i < epochs_.size(); ++i) {
    const auto total = compose(
        std::array{part(1, predictions[0]), part(epochs_[i], predictions[1]), part(epochs_[i], predictions[2])});
    result[i] = {.log_mean = total.log_mean,
                 .log_optimistic = total.log_mean - reach * total.log_sd,
                 .log_pessimistic = total.log_mean + reach * total.log_sd,
                 .log_extreme = total.log_mean - far * total.log_sd};
  }
}

}  // namespace nocturne::search::model
