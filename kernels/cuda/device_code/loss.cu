/// Softmax cross-entropy, one warp an image, and what begins and ends a step.

#include <cmath>

#include "kernels/cuda/device_code/numbers.cuh"
#include "kernels/cuda/device_code/random.cuh"
#include "kernels/cuda/device_code/warps.cuh"

namespace nocturne::cuda {
namespace {

constexpr std::uint64_t kDropoutUse = 0xd409;  // distinguishes the uses of a seed, as in the other workers

struct Largest {
  float value;
  std::int64_t index;
};

// The lower index wins a tie, as a search from the front does.
__device__ Largest warp_largest(Largest own) {
  for (int other = kWarp / 2; other > 0; other /= 2) {
    const float value = __shfl_xor_sync(kAllLanes, own.value, other);
    const std::int64_t index = __shfl_xor_sync(kAllLanes, own.index, other);
    if (value > own.value || (value == own.value && index < own.index)) own = {value, index};
  }
  return own;
}

template <typename T>
__device__ Largest row_largest(const T* logits, std::int64_t classes, int lane) {
  Largest own{-INFINITY, classes};
  for (std::int64_t k = lane; k < classes; k += kWarp) {
    const float value = to_float(logits[k]);
    if (value > own.value) own = {value, k};  // a NaN is not, and makes the sum of exponentials one
  }
  return warp_largest(own);
}

template <typename T>
__global__ void softmax_loss(const T* __restrict__ logits, const std::int32_t* __restrict__ labels, std::int64_t images,
                             std::int64_t classes, float smoothing, T* __restrict__ activation_gradient,
                             float* __restrict__ losses, const StepState* state) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t image = first_item() / kWarp;
  if (image >= images) return;  // whole warps leave together
  const T* row = logits + image * classes;
  const float largest = row_largest(row, classes, lane).value;
  float exponentials = 0, sum = 0;
  for (std::int64_t k = lane; k < classes; k += kWarp) {
    const float value = to_float(row[k]);
    exponentials += expf(value - largest);
    sum += value;
  }
  exponentials = warp_sum(exponentials);
  sum = warp_sum(sum);
  const std::int64_t label = labels[image];
  const float rest = smoothing / static_cast<float>(classes);
  const float scale = state->loss_scale.scale / static_cast<float>(images);
  for (std::int64_t k = lane; k < classes; k += kWarp) {
    const float wanted = rest + (k == label ? 1.0F - smoothing : 0.0F);
    const float probability = expf(to_float(row[k]) - largest) / exponentials;
    activation_gradient[image * classes + k] = from_float<T>((probability - wanted) * scale);
  }
  if (lane == 0) losses[image] = logf(exponentials) + largest - (1.0F - smoothing) * to_float(row[label]) - rest * sum;
}

template <typename T>
__global__ void judge(const T* __restrict__ logits, const std::int32_t* __restrict__ labels, std::int64_t images,
                      std::int64_t classes, float* __restrict__ losses, std::int32_t* __restrict__ correct) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t image = first_item() / kWarp;
  if (image >= images) return;
  const T* row = logits + image * classes;
  const Largest largest = row_largest(row, classes, lane);
  float exponentials = 0;
  for (std::int64_t k = lane; k < classes; k += kWarp) exponentials += expf(to_float(row[k]) - largest.value);
  exponentials = warp_sum(exponentials);
  if (lane == 0) {
    losses[image] = logf(exponentials) + largest.value - to_float(row[labels[image]]);
    correct[image] = largest.index == labels[image] ? 1 : 0;
  }
}

// One block, each thread its own stride, then a tree: the same order every time.
__global__ void reduce_loss(const float* __restrict__ losses, std::int64_t images, StepState* state) {
  __shared__ double sums[kThreads];
  double own = 0;
  for (std::int64_t i = threadIdx.x; i < images; i += kThreads) own += static_cast<double>(losses[i]);
  sums[threadIdx.x] = own;
  __syncthreads();
  for (unsigned half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x != 0) return;
  state->loss = static_cast<float>(sums[0] / static_cast<double>(images));
  state->loss_sum += sums[0];
  if (!isfinite(state->loss) && state->not_finite_at < 0) state->not_finite_at = state->step;
}

__global__ void begin_step(StepState* state) {
  state->dropout_key = key_of(state->seed, kDropoutUse, static_cast<std::uint64_t>(state->step));
  state->overflow = 0;
}

__global__ void end_step(StepState* state, bool dynamic) {
  if (dynamic) state->loss_scale = next_scale(state->loss_scale, state->overflow != 0);
  if (state->overflow != 0) ++state->skipped;
  ++state->step;
}

}  // namespace

void launch_begin_step(StepState* state, cudaStream_t stream) {
  begin_step<<<1, 1, 0, stream>>>(state);
  check_launch("begin_step");
}

void launch_softmax_loss(const void* logits, const std::int32_t* labels, std::int64_t images, std::int64_t classes,
                         float smoothing, void* activation_gradient, float* losses, DataType type,
                         const StepState* state, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>((images * kWarp + kThreads - 1) / kThreads);
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    softmax_loss<<<blocks, kThreads, 0, stream>>>(static_cast<const T*>(logits), labels, images, classes, smoothing,
                                                  static_cast<T*>(activation_gradient), losses, state);
  });
  check_launch("softmax_loss");
}

void launch_reduce_loss(const float* losses, std::int64_t images, StepState* state, cudaStream_t stream) {
  reduce_loss<<<1, kThreads, 0, stream>>>(losses, images, state);
  check_launch("reduce_loss");
}

void launch_judge(const void* logits, const std::int32_t* labels, std::int64_t images, std::int64_t classes,
                  float* losses, std::int32_t* correct, DataType type, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>((images * kWarp + kThreads - 1) / kThreads);
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    judge<<<blocks, kThreads, 0, stream>>>(static_cast<const T*>(logits), labels, images, classes, losses, correct);
  });
  check_launch("judge");
}

void launch_end_step(StepState* state, bool dynamic, cudaStream_t stream) {
  end_step<<<1, 1, 0, stream>>>(state, dynamic);
  check_launch("end_step");
}

}  // namespace nocturne::cuda
