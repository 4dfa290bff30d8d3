#pragma once

/// How well scales explain the trials, and the scales that do it best.
///
/// log p(y | scales) = -y' K⁻¹ y / 2 - log |K| / 2 - n/2 log 2 pi (Rasmussen and Williams, equation 5.8), its gradient
/// tr((a a' - K⁻¹) dK) / 2, a = K⁻¹ y (equation 5.9), plus the log-normal priors of the scales: maximum a posteriori.

#include <span>
#include <vector>

#include "search/model/covariance.hpp"
#include "search/model/dense.hpp"
#include "search/model/design.hpp"

namespace nocturne::search::model {

/// Logarithms of weights, pairs, local, noise, in this order.
[[nodiscard]] std::vector<double> to_vector(const Scales& scales);
[[nodiscard]] Scales to_scales(std::span<const double> logarithms);

/// Keeps its work space between evaluations. Not thread-safe.
class MarginalLikelihood {
 public:
  /// noise_factors: the noise variance of trial t is noise * noise_factors[t]. All are referred to, not copied.
  MarginalLikelihood(const Design& design, std::span<const double> values, std::span<const double> noise_factors,
                     const ScalePriors& priors);

  /// Log posterior density of the scales; the gradient in their logarithms where it is not empty. -infinity: K is not
  /// positive definite (then the gradient is 0).
  [[nodiscard]] double evaluate(std::span<const double> logarithms, std::span<double> gradient);
  /// Log likelihood at the last evaluation, without the priors.
  [[nodiscard]] double log_likelihood() const { return log_likelihood_; }

 private:
  void build(const Scales& scales);
  void differentiate(const Scales& scales, std::span<double> gradient);
  [[nodiscard]] double add_priors(std::span<const double> logarithms, std::span<double> gradient) const;

  const Design& design_;
  std::span<const double> values_;
  std::span<const double> noise_factors_;
  ScalePriors priors_;
  double log_likelihood_ = 0;

  std::size_t stride_ = 0;
  std::vector<float> sum_, pairs_, product_;  // E, (E² - S) / 2, P: lower triangles
  SquareMatrix factor_, inverse_, precision_;
  std::vector<double> alpha_;
};

/// Climbs from `scales` by NLopt's L-BFGS, at most `evaluations` evaluations.
[[nodiscard]] Scales fit_scales(MarginalLikelihood& likelihood, const Scales& scales, int evaluations);

}  // namespace nocturne::search::model
