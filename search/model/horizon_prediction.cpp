#include "search/model/horizon_prediction.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "search/model/linear_model.hpp"
#include "search/model/physics.hpp"

namespace nocturne::search::model {
namespace {

constexpr double kTail = 0.05;

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
  double squares = 0;
  for (const auto& each : parts) squares += std::pow(each.times * std::exp(each.log_mean) / total * each.log_reach, 2);
  return {.log_mean = std::log(total), .log_reach = std::sqrt(squares)};
}

PartsForecast::PartsForecast(space::Lattice& lattice, std::vector<double> horizons, const Roles& roles,
                             const WorkBound& bound, const LinearModelOptions& options)
    : epochs_(std::move(horizons)),
      startup_(lattice, options, startup_features(lattice, roles)),
      overhead_(lattice, options),
      steps_(lattice, options, step_features(lattice, roles, bound)) {}

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
  const auto parts_at = [&](double probability) {
    std::array<PartPrediction, predictions.size()> parts;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const double median = predictions[i].log_mean();
      parts[i] = {.log_mean = median,
                  .log_reach = std::abs(predictions[i].log_quantile(probability, widening) - median)};
    }
    return parts;
  };
  auto optimistic = parts_at(kTail), pessimistic = parts_at(1 - kTail), extreme = parts_at(kExtreme);
  for (std::size_t i = 0; i < epochs_.size(); ++i) {
    const auto composed = [&](auto& parts) {
      for (std::size_t part = 1; part < parts.size(); ++part) parts[part].times = epochs_[i];  // start-up counts once
      return compose(parts);
    };
    const auto [mean, below] = composed(optimistic);
    result[i] = {.log_mean = mean,
                 .log_optimistic = mean - below,
                 .log_pessimistic = mean + composed(pessimistic).log_reach,
                 .log_extreme = mean - composed(extreme).log_reach};
  }
}

}  // namespace nocturne::search::model
