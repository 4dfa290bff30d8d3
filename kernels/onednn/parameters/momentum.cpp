#include "kernels/onednn/parameters/momentum.hpp"

#include "kernels/data/clones.hpp"

namespace nocturne::onednn {

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
