#pragma once

/// The scales of the linear model's terms, and what is believed of them before the first trial.

#include <cstddef>
#include <vector>

namespace nocturne::search::model {

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

}  // namespace nocturne::search::model
