#pragma once

/// Stochastic gradient descent with momentum and weight decay, as PyTorch has it:
///
///     v ← μ v + g + λ w        w ← w - rate · v
///
/// λ acts on weights only: biases, scales and shifts pass 0 (parameters.hpp).

#include <cstdint>

namespace nocturne::onednn {

struct Momentum {
  float rate = 0.01F;
  float momentum = 0.9F;  ///< μ
  float decay = 1e-4F;    ///< λ
};

/// One update of `count` weights with this decay (not the rule's); all arrays are f32 and in the same order. Velocities
/// start as zeros.
void momentum_update(const Momentum& rule, float decay, float* weights, const float* gradient, float* velocity,
                     std::int64_t count);

}  // namespace nocturne::onednn
