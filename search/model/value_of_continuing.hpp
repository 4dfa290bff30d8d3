#pragma once

/// The value of continuing: the gain that so many more trials would bring, by the model.
///
/// The search is simulated through on samples of the posterior. In each play, trial after trial, the candidate with the
/// largest bold_improvement() times P(works) is "measured": it fails with its probability, else its value is drawn
/// from its predictive distribution given all draws before it in this play, and the model learns it. So the draws of a
/// play are one sample of the joint posterior, and what lies close to what was drawn is not counted twice. The gain of
/// a play is what its best value is below the incumbent; mean and quantiles are taken over plays.

#include <cstddef>

#include "search/model/feasibility.hpp"
#include "search/model/linear_model.hpp"
#include "space/lattice.hpp"
#include "space/random.hpp"

namespace nocturne::search::model {

/// Gains in log units, >= 0: 0.01 is 1 % less time.
struct ExpectedGain {
  std::size_t trials = 0;  ///< simulated trials; fewer than wanted if the gain of more cannot be predicted
  double mean = 0;
  double lower = 0, upper = 0;
  double confidence = 0.9;  ///< probability that the gain lies between lower and upper
};

inline constexpr std::size_t kMostExpectedGainTrials = 30;
inline constexpr std::size_t kExpectedGainDraws = 60;

/// The model comes back with the trials it had; which of them are outliers it knows again after the next fit.
/// REQUIRES: model.size() > 0, and it is fitted.
[[nodiscard]] ExpectedGain expected_gain(LinearModel& model, Feasibility& feasibility, space::Lattice& lattice,
                                         std::size_t trials, space::Random& random, double confidence = 0.9);

}  // namespace nocturne::search::model
