/// The optimizers, one pass over a section of the flat arrays: element by element, whatever the layout.

#include <cmath>

#include "kernels/cuda/device_code/numbers.cuh"

namespace nocturne::cuda {
namespace {

template <typename T>
__global__ void check_finite(const T* __restrict__ gradient, std::int64_t count, StepState* state) {
  bool bad = false;
  for (std::int64_t i = first_item(); i < count; i += item_stride()) bad |= !isfinite(to_float(gradient[i]));
  if (bad) state->overflow = 1;  // all who write write the same
}

template <typename G, typename C>
__global__ void adadelta(float* __restrict__ weights, const G* __restrict__ gradient, float* __restrict__ mean_gradient,
                         float* __restrict__ mean_update, C* __restrict__ copy, std::int64_t count, AdadeltaRule rule,
                         const StepState* state) {
  if (state->overflow != 0) return;
  const float unscale = 1.0F / state->loss_scale.scale, rest = 1.0F - rule.rho;
  for (std::int64_t i = first_item(); i < count; i += item_stride()) {
    const float g = to_float(gradient[i]) * unscale;
    const float a = rule.rho * mean_gradient[i] + rest * g * g;
    const float d = mean_update[i];
    const float update = g * sqrtf((d + rule.epsilon) / (a + rule.epsilon));
    const float weight = weights[i] - rule.rate * update;
    mean_gradient[i] = a;
    mean_update[i] = rule.rho * d + rest * update * update;
    weights[i] = weight;
    if (copy != nullptr) copy[i] = from_float<C>(weight);
  }
}

template <typename G, typename C>
__global__ void momentum(float* __restrict__ weights, const G* __restrict__ gradient, float* __restrict__ velocity,
                         C* __restrict__ copy, std::int64_t count, MomentumUpdate rule, const StepState* state) {
  if (state->overflow != 0) return;
  const float unscale = 1.0F / state->loss_scale.scale;
  for (std::int64_t i = first_item(); i < count; i += item_stride()) {
    const float v = rule.momentum * velocity[i] + to_float(gradient[i]) * unscale + rule.decay * weights[i];
    const float weight = weights[i] - rule.rate * v;
    velocity[i] = v;
    weights[i] = weight;
    if (copy != nullptr) copy[i] = from_float<C>(weight);
  }
}

// Calls launch(gradient, copy, blocks) with the two in their types.
template <typename Launch>
void launch_update(const char* name, const UpdateArrays& arrays, const Launch& launch) {
  if (arrays.count == 0) return;
  with_type(arrays.gradient_type, [&](auto gradient) {
    with_type(arrays.copy_type, [&](auto copy) {
      launch(static_cast<const decltype(gradient)*>(arrays.gradient), static_cast<decltype(copy)*>(arrays.copy),
             blocks_for(arrays.count));
    });
  });
  check_launch(name);
}

}  // namespace

void launch_check_finite(const void* gradient, DataType type, std::int64_t count, StepState* state,
                         cudaStream_t stream) {
  if (count == 0) return;
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    check_finite<<<blocks_for(count), kThreads, 0, stream>>>(static_cast<const T*>(gradient), count, state);
  });
  check_launch("check_finite");
}

void launch_adadelta(const UpdateArrays& arrays, const AdadeltaRule& rule, const StepState* state,
                     cudaStream_t stream) {
  launch_update("adadelta", arrays, [&](const auto* gradient, auto* copy, unsigned blocks) {
    adadelta<<<blocks, kThreads, 0, stream>>>(arrays.weights, gradient, arrays.first, arrays.second, copy, arrays.count,
                                              rule, state);
  });
}

void launch_momentum(const UpdateArrays& arrays, const MomentumUpdate& rule, const StepState* state,
                     cudaStream_t stream) {
  launch_update("momentum", arrays, [&](const auto* gradient, auto* copy, unsigned blocks) {
    momentum<<<blocks, kThreads, 0, stream>>>(arrays.weights, gradient, arrays.first, copy, arrays.count, rule, state);
  });
}

}  // namespace nocturne::cuda
