#pragma once

/// Covariance of a point with all trials:
///
///   c + E + b2/2 (E² - S) + b3 P,   E = sum_i a_i,  S = sum_i a_i²,  P = prod_i exp(-d_i),  a_i = weight_i row_i

#include <cstddef>
#include <span>
#include <vector>

namespace nocturne::search::model {

// The scales of the linear model's terms, and what is believed of them before the first trial.

/// Variances, relative to targets of variance 1. Fitted and bounded as logarithms.
struct Scales {
  std::vector<double> weights;  ///< one for each main effect, then one for each feature
  double pairs = 0.5;           ///< b2
  double local = 0.1;           ///< b3
  double noise = 0.003;
  double intercept = 1;  ///< c; not fitted: targets have mean 0
};

/// Normal in the logarithm. Sparse by its width: a parameter that does nothing shrinks to nothing.
struct ScalePrior {
  double median = 1;
  double sd = 1;  ///< standard deviation of the logarithm
};

struct ScalePriors {
  ScalePrior weight;  ///< median: one over the number of parameters, so that together they explain the targets
  ScalePrior pairs{.median = 0.5, .sd = 1};
  ScalePrior local{.median = 0.1, .sd = 1};
  ScalePrior noise{.median = 0.003, .sd = 1.5};

  explicit ScalePriors(std::size_t weights) : weight{.median = 1 / static_cast<double>(weights), .sd = 2} {}
};

/// One point's rows of the trial table: a_i[t] = weight * row[t].
struct Term {
  const float* row = nullptr;
  float weight = 0;
};

/// `length` is a multiple of TrialTable::kLanes.
struct PointTerms {
  std::vector<Term> terms;
  std::vector<const float*> closeness;
};

/// Writes c + E + b2/2 (E² - S) + b3 P.
void covariance_row(const PointTerms& point, const Scales& scales, std::size_t length, float* result);
/// Writes E, (E² - S) / 2 and P apart, as a fit needs them.
void covariance_parts(const PointTerms& point, std::size_t length, float* sum, float* pairs, float* product);
/// Writes for each term the sum over t of a[t] * (first[t] + second[t] * a[t]): the gradient of its weight.
void term_sums(const PointTerms& point, std::size_t length, const float* first, const float* second, double* sums);

/// kBlock candidates at once: covariances side by side, k[t * kBlock + c].
inline constexpr std::size_t kBlock = 16;
/// Lower triangular inverse factor for many candidates, rows of `stride` floats.
/// mean[c] = sum_t alpha[t] k[t][c];  explained[c] += sum_j (sum_t inverse[j][t] k[t][c])², over rows j from `begin`
/// on. In the order of j, so that it makes no difference to any bit whether rows come at once or one by one.
void explain_block(const float* inverse, std::size_t stride, std::size_t begin, std::size_t size, const float* alpha,
                   const float* k, float* mean, float* explained);

}  // namespace nocturne::search::model
