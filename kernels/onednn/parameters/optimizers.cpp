#include "kernels/onednn/parameters/optimizers.hpp"

#include <cmath>

#include "kernels/data/clones.hpp"

namespace nocturne::onednn {

// One root of the quotient instead of two roots: the loop is bound by memory only if the root is a vector instruction,
// which needs -fno-math-errno (build.json has it).
NOCTURNE_CLONES void adadelta_update(const Adadelta& rule, float* __restrict weights, const float* __restrict gradient,
                                     float* __restrict mean_square_gradient, float* __restrict mean_square_update,
                                     std::int64_t count) {
  const float rate = rule.rate, rho = rule.rho, rest = 1.0F - rule.rho, epsilon = rule.epsilon;
  for (std::int64_t i = 0; i < count; ++i) {
    const float g = gradient[i];
    const float a = rho * mean_square_gradient[i] + rest * g * g;
    const float d = mean_square_update[i];
    const float update = g * std::sqrt((d + epsilon) / (a + epsilon));
    mean_square_gradient[i] = a;
    mean_square_update[i] = rho * d + rest * update * update;
    weights[i] -= rate * update;
  }
}

NOCTURNE_CLONES void momentum_update(const Momentum& rule, float decay, float* __restrict weights,
                                     const float* __restrict gradient, float* __restrict velocity, std::int64_t count) {
  const float rate = rule.rate, momentum = rule.momentum;
  for (std::int64_t i = 0; i < count; ++i) {
    const float v = momentum * velocity[i] + (gradient[i] + decay * weights[i]);
    velocity[i] = v;
    weights[i] -= rate * v;
  }
}

}  // namespace nocturne::onednn
