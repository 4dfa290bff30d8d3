// LinearModel: which trials are noise, and how far intervals are to be widened.

#include <algorithm>
#include <cmath>

#include "search/model/linear_model.hpp"
#include "search/model/linear_model_state.hpp"

namespace nocturne::search::model {
namespace {

constexpr double kOutlier = 4;              // standard deviations from what all others predict: 1 in 16000 by chance
constexpr double kTails = 4;                // degrees of freedom of noise with heavy tails
constexpr double kMostSquare = 30;          // of a residual that counts for the widening: one outlier is not a rule
constexpr double kMostSquareOfEffects = 9;  // likewise of effects, to which one trial matters less
constexpr double kBelief = 2;               // trials' worth of what is expected where no trial is alike
constexpr double kSimilar = 0.7;            // difference of log variances at which a trial counts for 60 %
constexpr double kNear = 0.4;               // likewise of predictions, whose standard deviation over trials is about 1

}  // namespace

std::vector<LinearModel::State::LeftOutTrial> LinearModel::State::left_out() const {
  const auto moments = posterior.leave_one_out(values);
  std::vector<LeftOutTrial> result;
  for (std::size_t t = 0; t < moments.size(); ++t) {
    // An earlier weighing must not excuse the trial from the next one: its own extra noise is taken out again.
    result.push_back({.mean = moments[t].mean,
                      .residual = values[t] - moments[t].mean,
                      .variance = moments[t].variance - scales.noise * (noise_factors[t] - 1)});
  }
  return result;
}

void LinearModel::State::weigh_outliers() {
  std::vector<double> factors;
  for (const auto& [mean, residual, variance] : left_out()) {
    // As if its noise had been as large as its surprise: the deviation becomes kOutlier standard deviations.
    const double excess = residual * residual / (kOutlier * kOutlier) - variance;
    factors.push_back(1 + std::max(0.0, excess) / scales.noise);
  }
  if (factors == noise_factors) return;
  noise_factors = std::move(factors);
  posterior.clear();
  posterior.extend(scales, noise_factors);
  posterior.set_values(values);
}

void LinearModel::State::learn_widening() {
  left_out_means.clear();
  left_out_log_variances.clear();
  left_out_squares.clear();
  for (const auto& [mean, residual, variance] : left_out()) {
    left_out_means.push_back(mean);
    left_out_log_variances.push_back(std::log(variance));
    left_out_squares.push_back(std::min(residual * residual / variance, kMostSquare));
  }
}

double LinearModel::State::widening_at(double mean, double variance) const {
  // A search measures mostly near the best, where it predicts well, and most configurations are far from it. The trials
  // that were expected to be about as good, and of which the model was about as unsure, say how wrong it is there.
  double sum = kBelief * options.doubt;
  double weight = kBelief;
  const double log_variance = std::log(variance);
  for (std::size_t t = 0; t < left_out_squares.size(); ++t) {
    const double apart = (log_variance - left_out_log_variances[t]) / kSimilar;
    const double away = (mean - left_out_means[t]) / kNear;
    const double alike = std::exp(-0.5 * (apart * apart + away * away));
    sum += alike * left_out_squares[t];
    weight += alike;
  }
  return std::sqrt(sum / weight);
}

double LinearModel::State::widening() const {
  double sum = kBelief;
  for (const double each : left_out_squares) sum += std::min(each, kMostSquareOfEffects);
  return std::sqrt(sum / (kBelief + static_cast<double>(left_out_squares.size())));
}

void LinearModel::State::weigh_by_tails() {
  const auto trials = left_out();
  for (std::size_t t = 0; t < trials.size(); ++t) {
    const double square = trials[t].residual * trials[t].residual / trials[t].variance;
    noise_factors[t] = std::max(1.0, (kTails + square) / (kTails + 1));
  }
}

}  // namespace nocturne::search::model
