#include "search/model/marginal_likelihood.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlopt.hpp>
#include <numbers>

namespace nocturne::search::model {
namespace {

constexpr double kTiny = 1e-9;  // added to the diagonal

double log_normal(double logarithm, const ScalePrior& prior, double& slope) {
  const double z = (logarithm - std::log(prior.median)) / prior.sd;
  slope += -z / prior.sd;
  return -0.5 * z * z;
}

/// What NLopt calls, and the best that it has seen: it may stop anywhere.
struct Climb {
  MarginalLikelihood& likelihood;
  std::vector<double> best;
  double best_value;
};

double climb(const std::vector<double>& x, std::vector<double>& gradient, void* data) {
  auto& climb = *static_cast<Climb*>(data);
  std::vector<double> slope(x.size());
  const double value = climb.likelihood.evaluate(x, slope);
  if (!gradient.empty()) gradient = slope;
  if (!std::isfinite(value)) return -1e10;
  if (value > climb.best_value) {
    climb.best_value = value;
    climb.best = x;
  }
  return value;
}

}  // namespace

std::vector<double> to_vector(const Scales& scales) {
  std::vector<double> result;
  for (const auto each : scales.weights) result.push_back(std::log(each));
  for (const auto each : {scales.pairs, scales.local, scales.noise}) result.push_back(std::log(each));
  return result;
}

Scales to_scales(std::span<const double> logarithms) {
  const auto weights = logarithms.size() - 3;
  Scales scales;
  for (std::size_t i = 0; i < weights; ++i) scales.weights.push_back(std::exp(logarithms[i]));
  scales.pairs = std::exp(logarithms[weights]);
  scales.local = std::exp(logarithms[weights + 1]);
  scales.noise = std::exp(logarithms[weights + 2]);
  return scales;
}

MarginalLikelihood::MarginalLikelihood(const Design& design, std::span<const double> values,
                                       std::span<const double> noise_factors, const ScalePriors& priors)
    : design_(design), values_(values), noise_factors_(noise_factors), priors_(priors) {
  const auto n = values.size();
  stride_ = (n + TrialTable::kLanes - 1) / TrialTable::kLanes * TrialTable::kLanes;
  sum_.resize(n * stride_);
  pairs_.resize(n * stride_);
  product_.resize(n * stride_);
  alpha_.resize(n);
}

void MarginalLikelihood::build(const Scales& scales) {
  const auto n = values_.size();
  factor_.resize(n);
  PointTerms terms;
  for (std::size_t s = 0; s < n; ++s) {
    design_.terms(design_.point(s), scales, terms);
    float* sum = sum_.data() + s * stride_;
    float* pairs = pairs_.data() + s * stride_;
    float* product = product_.data() + s * stride_;
    covariance_parts(terms, s / TrialTable::kLanes * TrialTable::kLanes + TrialTable::kLanes, sum, pairs, product);
    for (std::size_t t = 0; t <= s; ++t) {
      factor_.row(t)[s] = scales.intercept + static_cast<double>(sum[t]) +
                          scales.pairs * static_cast<double>(pairs[t]) + scales.local * static_cast<double>(product[t]);
    }
    factor_.row(s)[s] += scales.noise * noise_factors_[s] + kTiny;
  }
}

double MarginalLikelihood::evaluate(std::span<const double> logarithms, std::span<double> gradient) {
  const auto n = values_.size();
  const auto scales = to_scales(logarithms);
  std::ranges::fill(gradient, 0.0);
  build(scales);
  if (!factorise(factor_)) return -std::numeric_limits<double>::infinity();
  invert_factor(factor_, inverse_);
  std::ranges::fill(alpha_, 0.0);
  double value = -0.5 * static_cast<double>(n) * std::log(2 * std::numbers::pi);
  for (std::size_t k = 0; k < n; ++k) {  // u = L⁻¹ y; y' K⁻¹ y = u' u; alpha = L⁻ᵀ u
    const double* row = inverse_.row(k);
    double u = 0;
    for (std::size_t t = 0; t <= k; ++t) u += row[t] * values_[t];
    for (std::size_t t = 0; t <= k; ++t) alpha_[t] += row[t] * u;
    value += -0.5 * u * u - std::log(factor_.row(k)[k]);
  }
  log_likelihood_ = value;
  if (!gradient.empty()) {
    multiply_transposed(inverse_, precision_);
    differentiate(scales, gradient);
  }
  return value + add_priors(logarithms, gradient);
}

void MarginalLikelihood::differentiate(const Scales& scales, std::span<double> gradient) {
  const auto weights = scales.weights.size();
  std::vector<double> sums(weights);
  std::vector<float> first(stride_), second(stride_);
  double pairs = 0, local = 0, noise = 0;
  PointTerms terms;
  for (std::size_t s = 0; s < values_.size(); ++s) {
    const auto padded = s / TrialTable::kLanes * TrialTable::kLanes + TrialTable::kLanes;
    const float* sum = sum_.data() + s * stride_;
    const float* pair = pairs_.data() + s * stride_;
    const float* product = product_.data() + s * stride_;
    std::fill(first.begin() + static_cast<std::ptrdiff_t>(s), first.begin() + static_cast<std::ptrdiff_t>(padded),
              0.0F);
    std::fill(second.begin() + static_cast<std::ptrdiff_t>(s), second.begin() + static_cast<std::ptrdiff_t>(padded),
              0.0F);
    // Half of aa' - K⁻¹, twice off the diagonal: the lower triangle stands for both.
    for (std::size_t t = 0; t <= s; ++t) {
      const double m = (alpha_[s] * alpha_[t] - precision_.row(s)[t]) * (t == s ? 0.5 : 1);
      // d K / d log w_i = a_i (1 + b2 (E - a_i))
      first[t] = static_cast<float>(m * (1 + scales.pairs * static_cast<double>(sum[t])));
      second[t] = static_cast<float>(-m * scales.pairs);
      pairs += m * static_cast<double>(pair[t]);
      local += m * static_cast<double>(product[t]);
      if (t == s) noise += m * noise_factors_[s];
    }
    design_.terms(design_.point(s), scales, terms);
    term_sums(terms, padded, first.data(), second.data(), sums.data());
  }
  for (std::size_t i = 0; i < weights; ++i) gradient[i] = sums[i];
  gradient[weights] = pairs * scales.pairs;
  gradient[weights + 1] = local * scales.local;
  gradient[weights + 2] = noise * scales.noise;
}

double MarginalLikelihood::add_priors(std::span<const double> logarithms, std::span<double> gradient) const {
  const auto weights = logarithms.size() - 3;
  double value = 0;
  for (std::size_t i = 0; i < logarithms.size(); ++i) {
    const auto& prior = i < weights        ? priors_.weight
                        : i == weights     ? priors_.pairs
                        : i == weights + 1 ? priors_.local
                                           : priors_.noise;
    double slope = 0;
    value += log_normal(logarithms[i], prior, slope);
    if (!gradient.empty()) gradient[i] += slope;
  }
  return value;
}

Scales fit_scales(MarginalLikelihood& likelihood, const Scales& scales, int evaluations) {
  const auto start = to_vector(scales);
  Climb state{.likelihood = likelihood, .best = start, .best_value = -std::numeric_limits<double>::infinity()};
  nlopt::opt optimiser(nlopt::LD_LBFGS, static_cast<unsigned>(start.size()));
  std::vector<double> lower(start.size(), std::log(1e-6));
  std::vector<double> upper(start.size(), std::log(50.0));
  lower.back() = std::log(1e-4);     // float arithmetic of candidates stays accurate; noise is never less
  upper.back() = std::numbers::ln2;  // twice the variance of the targets: nothing is explained
  optimiser.set_lower_bounds(lower);
  optimiser.set_upper_bounds(upper);
  optimiser.set_max_objective(climb, &state);
  optimiser.set_maxeval(evaluations);
  optimiser.set_ftol_abs(0.01);  // a hundredth of a unit of log likelihood changes no proposal
  auto x = start;
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::clamp(x[i], lower[i], upper[i]);
  double value = 0;
  try {
    optimiser.optimize(x, value);
  } catch (const std::runtime_error&) {  // rounding stopped it (nlopt::roundoff_limited is one): the best seen stands
  }
  return to_scales(state.best);
}

}  // namespace nocturne::search::model
