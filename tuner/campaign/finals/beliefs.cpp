#include "tuner/campaign/finals/beliefs.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "tuner/campaign/learned_campaign.hpp"

namespace nocturne::tuner {
namespace {

using search::model::LinearModel;
using search::model::LinearModelOptions;

/// As for reports, but with the local residual: what parameters and pairs of them do not explain is a property of the
/// configuration here, as far as its neighbours say so. How much of it is noise decides who is a finalist.
constexpr LinearModelOptions kForChoice{.heavy_tails = true, .knee = 0.9, .doubt = 3};

/// No model knows a configuration better than that: single processes and the model alone crown nobody.
constexpr double kLeastDoubt = 0.02;

constexpr double kDegrees = 4;

bool ended_well(const space::Trial& trial) {
  return trial.outcome == space::Outcome::Ok && trial.estimate && trial.parts && trial.estimate->value > 0;
}

/// Variance of the log of what a trial's own processes say.
double own_variance(const space::Estimate& estimate, double process_variance) {
  const double within = estimate.standard_error / estimate.value;
  return process_variance / std::max(1, estimate.runs) + within * within;
}

/// What is expected of a trial, and what it measured.
Belief combined(double expected, double expected_variance, double measured, double measured_variance) {
  const double surprise = (measured - expected) * (measured - expected) / (expected_variance + measured_variance);
  const double weight = (kDegrees + 1) / (kDegrees + surprise) / measured_variance;
  const double precision = 1 / expected_variance + weight;
  return {.log_time = (expected / expected_variance + weight * measured) / precision,
          .error = 1 / std::sqrt(precision)};
}

}  // namespace

LinearModel model_of_times(space::Lattice& lattice, const LinearModelOptions& options,
                           std::span<const db::StoredTrial> trials) {
  LinearModel model(lattice, options);
  for (const db::StoredTrial& each : trials) {
    if (!ended_well(each.trial)) continue;
    if (const auto point = lattice.point_of(each.trial.configuration))
      model.tell(*point, std::log(each.trial.estimate->value));
  }
  model.fit();
  return model;
}

std::vector<std::optional<Belief>> believed_times(const space::Space& space, std::span<const db::StoredTrial> trials,
                                                  double process_sd) {
  space::Lattice lattice(space);
  LinearModel model = model_of_times(lattice, kForChoice, trials);
  const bool known = model.size() >= kFewestForModel;
  std::map<std::size_t, search::model::Prediction> of_others;  // by trial of the model
  if (known)
    for (auto& left : model.leave_one_out()) of_others.emplace(left.trial, left.prediction);
  const double noise = known ? std::max(process_sd, model.noise_sd()) : process_sd;

  std::vector<std::optional<Belief>> beliefs(trials.size());
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const space::Trial& trial = trials[i].trial;
    if (!ended_well(trial)) continue;
    const double measured = std::log(trial.estimate->value);
    const double variance = own_variance(*trial.estimate, noise * noise) + 1e-12;
    const auto point = lattice.point_of(trial.configuration);
    if (!known || !point) {
      beliefs[i] = Belief{.log_time = measured, .error = std::sqrt(variance)};
      continue;
    }
    const auto others = of_others.find(model.trial_of(*point).value_or(model.size()));
    const auto prediction = others != of_others.end() ? others->second : model.predict(*point);
    const double scatter = prediction.log_observed_sd();
    const double unexplained = (scatter * scatter - noise * noise) * prediction.widening * prediction.widening;
    beliefs[i] = combined(prediction.log_mean(), std::max(kLeastDoubt * kLeastDoubt, unexplained), measured, variance);
  }
  return beliefs;
}

}  // namespace nocturne::tuner
