#pragma once

/// Bayesian linear regression on the logarithm of an objective, in closed form.
///
///   y(x) = intercept + sum_i f_i(x_i) + sum_{i<j} f_ij(x_i, x_j) + g(x) + noise
///
/// f_i: the main effect of parameter i, one coefficient a level, summing to zero; smooth over the levels of an ordered
/// one. f_ij: interactions. g: a small local residual. All coefficients are Gaussian a priori, so y is a Gaussian
/// process (Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006, section 2.1: the weight space and
/// the function space view are the same model) with covariance
///
///   K = c + E + b2/2 (E² - S) + b3 exp(-sum_i d_i) + noise,     E = sum_i w_i k_i + sum_f v_f z_f z_f'
///
/// S: the sum of the squares of E's terms, so that E² - S is twice the sum of the products of two different ones.
///
/// k_i (level_kernel.hpp) over levels; z_f: standardised physical features (log batch, log operations / threads). The
/// scales w, v, b2, b3, noise maximise the marginal likelihood times log-normal priors (marginal_likelihood.hpp).
/// Predictions are equations 2.25 and 2.26 of the book. Outliers weigh less: where a trial lies farther than four
/// standard deviations from what all others predict, a fit raises the noise of that trial until it lies at four.
///
/// Above LinearModelOptions::trials the scales and predictions rest on a subset of the trials: the best, those of
/// levels that few trials have, and others spread over the rest. What a trial outside it measured is predicted, not
/// known.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "search/model/covariance.hpp"
#include "search/model/design.hpp"
#include "search/model/posterior.hpp"
#include "search/model/prediction.hpp"
#include "space/lattice.hpp"

namespace nocturne::search::model {

struct LinearModelOptions {
  bool pairs = true;  ///< interactions
  bool local = true;  ///< the local residual
  /// Noise as of Student's t distribution with four degrees of freedom: a disturbed run is a disturbance, not an
  /// effect.
  bool heavy_tails = false;
  double knee = 0.5;  ///< quantile of the values above which the target is bent (prediction.hpp); 1: nowhere
  /// Squared standardised error to be expected of predictions that are like none of the trials; 1: what the model says.
  double doubt = 1;
  int evaluations = 12;      ///< likelihood evaluations per fit
  std::size_t trials = 256;  ///< largest number of trials that the model is fitted to
};

/// Options for models that are fitted for reports. A model that serves a search resolves only the fastest in full and
/// understates effects. The high knee keeps a few outliers from dominating the effects. A model that resolves times up
/// to the slowest is worse than it thinks about what is unlike all trials, hence `doubt`. What no parameter and no pair
/// of them explains is noise here: a local residual would take a disturbed run for a property of its configuration.
inline constexpr LinearModelOptions kForReports{.local = false, .heavy_tails = true, .knee = 0.9, .doubt = 3};

struct Interaction {
  std::size_t first = 0, second = 0;
  double strength = 0;  ///< standard deviation of the posterior mean of f_ij over all pairs of levels, log units
};

/// Parameters whose levels have changed together in all trials so far: their effects cannot be separated.
struct Alias {
  std::vector<std::size_t> parameters;  ///< two or more, ascending; or one: a parameter that never changed
};

/// Not thread-safe. Deterministic: the same trials in the same order with the same calls of fit() give the same
/// numbers. The lattice must outlive it.
class LinearModel {
 public:
  LinearModel(space::Lattice& lattice, LinearModelOptions options, std::vector<Feature> features = {});
  ~LinearModel();
  LinearModel(LinearModel&&) noexcept;
  LinearModel& operator=(LinearModel&&) noexcept;

  /// Adds a trial, or replaces the value of one told at the same point. `log_value` is finite.
  void tell(space::Point point, double log_value);
  /// Forgets a trial, as where it failed when measured again.
  void forget(space::Point point);
  /// tell() for a trial of an earlier campaign: evidence, but never the best of this one. If this campaign has told the
  /// point, nothing happens; if it tells the point later, that replaces the value.
  void tell_past(space::Point point, double log_value);
  void forget_past();
  /// Forgets what was told last, down to so many trials: as forget() of each, the last first. Told and taken back again
  /// and again, as plays of a search do it, the model is not built anew each time.
  void take_back(std::size_t trials);
  [[nodiscard]] std::size_t size() const;
  /// The trial of this point, of which there is one at most; empty: it was not measured.
  [[nodiscard]] std::optional<std::size_t> trial_of(space::Point point) const;
  [[nodiscard]] space::Point point(std::size_t trial) const;
  [[nodiscard]] double log_value(std::size_t trial) const;

  /// Until release(), tell() or fit(): as if this point had been measured and had come out as predicted. For what is
  /// under way.
  void assume(space::Point point);
  void release();

  /// Chooses the scales anew (warm start) and factorises. Without it predictions are still exact for the scales in use.
  /// Without trials nothing happens.
  void fit();

  /// REQUIRES: size() > 0 (here and below).
  [[nodiscard]] Prediction predict(space::Point point);
  /// Posterior mean only, model units; much cheaper than predict().
  [[nodiscard]] double mean(space::Point point);
  /// Means and latent standard deviations of many points, model units; some 0.5 µs a point at 100 trials.
  void predict(const space::PointList& points, std::vector<float>& means, std::vector<float>& latent_sds);
  /// The same of points that are asked for again after each of some trials; REQUIRES: not fitted in between.
  void predict(FollowedPoints& points, std::vector<float>& means, std::vector<float>& latent_sds);
  [[nodiscard]] const Target& target();
  [[nodiscard]] const Scales& scales();
  /// Best told value in model units; if it is an outlier, the model's mean there. Values of an earlier campaign count
  /// only if there are no others.
  [[nodiscard]] double best();

  /// What each trial's value was against what all others predict of it (book, equations 5.10 to 5.12).
  struct LeftOut {
    std::size_t trial = 0;
    Prediction prediction;
    double log_value = 0;
  };
  [[nodiscard]] std::vector<LeftOut> leave_one_out();

  /// What the configurations `to` take against those in `from`, pair by pair and on average: log units, below 0 is
  /// faster. The difference is of true times, without noise: that of a point with itself is exactly 0.
  /// REQUIRES: as many of both, one at least.
  struct Difference {
    double mean = 0;
    double sd = 0;         ///< standard deviation of the posterior, widened as predictions are
    Interval without_one;  ///< range of the mean if any one trial is left out
  };
  [[nodiscard]] Difference difference(const space::PointList& from, const space::PointList& to);

  /// The strongest first.
  [[nodiscard]] std::vector<Interaction> interactions();
  [[nodiscard]] std::vector<Alias> aliased() const;
  /// Standard deviation of the noise of one observation, log units.
  [[nodiscard]] double noise_sd();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// When the scales of a model are chosen anew: often while each trial changes them.

/// Whether a model of so many trials is to be fitted that was fitted to `fitted` (0: never): after each trial to 40,
/// every third to 100, every eighth to 256; then whenever it has learnt a thirty-second more, each 32nd at the latest.
[[nodiscard]] constexpr bool fit_is_due(std::size_t trials, std::size_t fitted) {
  const std::size_t every = trials <= 40 ? 1 : trials <= 100 ? 3 : std::clamp<std::size_t>(trials / 32, 8, 32);
  return trials < fitted || trials - fitted >= every;
}

}  // namespace nocturne::search::model
