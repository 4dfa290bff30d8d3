#pragma once

/// Adadelta (M. Zeiler, "ADADELTA: An Adaptive Learning Rate Method", arXiv 1212.5701, algorithm 1), as Keras has it:
///
///     a ← ρ a + (1 - ρ) g²        Δ = g · sqrt(d + ε) / sqrt(a + ε)        d ← ρ d + (1 - ρ) Δ²        w ← w - rate ·
///     Δ
///
/// Rate 1, ρ 0.95, ε 1e-7 are what `keras.optimizers.Adadelta()` used when the MNIST example was written (its rate
/// became 0.001 only later, with which the example no longer learns in 12 epochs); PyTorch differs in ρ 0.9 and ε 1e-6.

#include <cstdint>

namespace nocturne::onednn {

struct Adadelta {
  float rate = 1.0F;
  float rho = 0.95F;
  float epsilon = 1e-7F;  ///< under the root, as in the paper and in Keras
};

/// One update of `count` weights; all arrays are f32 and in the same order. Both averages start as zeros.
void adadelta_update(const Adadelta& rule, float* weights, const float* gradient, float* mean_square_gradient,
                     float* mean_square_update, std::int64_t count);

// Stochastic gradient descent with momentum and weight decay, as PyTorch has it:
//
//     v ← μ v + g + λ w        w ← w - rate · v
//
// λ acts on weights only: biases, scales and shifts pass 0 (parameters.hpp).

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
