#pragma once

/// The worker's own kernels, as functions that put them on a stream and return at once. What each computes stands here;
/// how, in the .cu files. Arrays are on the device, aligned to 128 bytes, in the type that `type` says unless they are
/// typed. All throw worker::Unsupported or CudaError where a launch is refused (check.hpp).

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/cuda/choices.hpp"
#include "kernels/cuda/device_code/step_state.hpp"

namespace nocturne::cuda {

enum class DataType { F32, Bf16, F16 };

[[nodiscard]] constexpr DataType data_type(Precision precision) {
  if (precision == Precision::Bf16) return DataType::Bf16;
  return precision == Precision::F16 ? DataType::F16 : DataType::F32;
}

// --- activations and activation gradients (elementwise.cu) ---

/// out[i] = in[i], rounded.
void launch_convert(const float* in, void* out, DataType type, std::int64_t count, cudaStream_t stream);
/// From a stored byte to what the network reads: byte · factor + offset.
struct PixelScaling {
  float factor = 1, offset = 0;
};
/// A batch as it came from the host: bytes, and one scaling a channel.
struct RawImages {
  const std::uint8_t* bytes = nullptr;
  const PixelScaling* scaling = nullptr;
};
/// Where a channel's values lie: image by image, `pixels` of a channel together or `channels` of a pixel.
struct ChannelOrder {
  std::int64_t channels = 1, pixels = 1;
  Layout layout = Layout::Nchw;
};
/// out[i] = the scaled byte i of the images.
void launch_scale(const RawImages& images, void* out, DataType type, std::int64_t count, const ChannelOrder& order,
                  cudaStream_t stream);
/// values[i] += bias[channel of i], then the rectifier if asked for; in place.
void launch_add_bias(void* values, const void* bias, DataType type, std::int64_t count, const ChannelOrder& order,
                     bool relu, cudaStream_t stream);
/// values[i] = max(values[i], 0), in place.
void launch_rectify(void* values, DataType type, std::int64_t count, cudaStream_t stream);
/// activation gradient[i] = 0 where the rectifier's output is not positive; in place.
void launch_gate(void* activation_gradient, const void* output, DataType type, std::int64_t count, cudaStream_t stream);
/// out[i] = a[i] + b[i], then the rectifier if asked for.
void launch_add(void* out, const void* a, const void* b, DataType type, std::int64_t count, bool relu,
                cudaStream_t stream);
/// into[i] += from[i].
void launch_accumulate(void* into, const void* from, DataType type, std::int64_t count, cudaStream_t stream);

/// One draw of a dropout layer: a function of the step's key (StepState::dropout_key), the row, and the value's place.
struct DropoutRule {
  std::uint64_t row = 0;
  std::uint32_t dropped = 0;  ///< how many of 256 values become zero
  float scale = 1;            ///< 256 / (256 - dropped)
  bool accumulate = false;    ///< adds to what is there, else replaces it
};
/// out[i] = kept(i) ? in[i] · scale : 0. Backward is the same function of the activation gradient: the draw repeats
/// itself.
void launch_dropout(const void* in, void* out, DataType type, std::int64_t count, const DropoutRule& rule,
                    const StepState* state, cudaStream_t stream);

// --- sums over a channel: the gradient of a bias (sum.cu), normalisation (normalise.cu) ---

/// Room for what the functions below that take `parts` need while they add up, in parts and always in the same order.
[[nodiscard]] std::int64_t channel_sums_bytes(std::int64_t count, const ChannelOrder& order);

/// sums[c] = the sum of channel c's values, in f32, then rounded.
void launch_sum_channels(const void* values, void* sums, float* parts, DataType type, std::int64_t count,
                         const ChannelOrder& order, cudaStream_t stream);

/// Batch normalisation (S. Ioffe and C. Szegedy, ICML 2015, algorithm 1). Each array has `channels` values, f32. `sums`
/// and `squares` of the values, over `per_channel` values a channel, where a fused convolution took them.
struct NormalisationArrays {
  const float *sums = nullptr, *squares = nullptr;
  float *running_mean = nullptr, *running_variance = nullptr;
  float *mean = nullptr, *inverse_deviation = nullptr;  ///< statistics of the batch, [channels]
  const float *scale = nullptr, *shift = nullptr;
  std::int64_t channels = 0, per_channel = 0;
};
/// How statistics become what normalises: inverse deviation = 1 / sqrt(variance + epsilon); the running averages follow
/// by `momentum`, the variance with its divisor n - 1 (kernels/networks/network.hpp).
struct NormalisationRule {
  float epsilon = 0, momentum = 0;
};
/// The statistics of a batch: mean and inverse deviation, and the running averages. The values are taken less the
/// channel's first one, so that no digits are lost where the mean is many times the deviation.
void launch_batch_statistics(const void* values, float* parts, DataType type, std::int64_t count,
                             const ChannelOrder& order, const NormalisationArrays& arrays,
                             const NormalisationRule& rule, cudaStream_t stream);
/// The same from `sums` and `squares`: mean = sum / n, variance = squares / n - mean² (not below 0).
void launch_finish_statistics(const NormalisationArrays& arrays, const NormalisationRule& rule, cudaStream_t stream);
/// Mean and inverse deviation from the running averages, as an evaluation wants them.
void launch_running_statistics(const NormalisationArrays& arrays, float epsilon, cudaStream_t stream);
/// out[i] = (in[i] - mean) · inverse deviation · scale + shift of i's channel, then the rectifier if asked for.
void launch_normalise(const void* in, void* out, const NormalisationArrays& arrays, DataType type, std::int64_t count,
                      const ChannelOrder& order, bool relu, cudaStream_t stream);

/// What the backward pass of a normalisation reads and writes; `in` is what it normalised, dy the gradient of its
/// output.
struct NormalisationGradients {
  const void *in = nullptr, *dy = nullptr;
  void* dx = nullptr;       ///< null: nobody needs it
  bool relu = false;        ///< a rectifier followed: dy is 0 where it held the output back
  bool accumulate = false;  ///< dx is added to what is there
  float *scale = nullptr, *shift = nullptr;
};
/// shift gradient = Σ dy, scale gradient = Σ dy · x̂ with x̂ = (in - mean) · inverse deviation, and
/// dx = scale · inverse deviation · (dy - (shift gradient + x̂ · scale gradient) / n) (same paper, section 3).
void launch_normalise_backward(const NormalisationGradients& gradients, float* parts, const NormalisationArrays& arrays,
                               DataType type, std::int64_t count, const ChannelOrder& order, cudaStream_t stream);

// --- values for tensors that are tried or timed (fill.cu) ---

/// values[i] = centre + spread · u(seed, i), rounded; u uniform in [-1, 1).
struct FillRule {
  float centre = 0, spread = 0;
  std::uint64_t seed = 0;
};
void launch_fill(void* values, DataType type, std::int64_t count, const FillRule& rule, cudaStream_t stream);

// --- two arrays beside each other (compare.cu) ---

/// On the device; floats as their bits, which for positive numbers have the same order. Begins as zeros.
struct Comparison {
  unsigned largest_difference = 0, largest_value = 0;
  unsigned not_finite = 0;  ///< how many values of either array are not finite
};
/// Largest |a[i] - b[i]|, largest |a[i]|.
void launch_compare(const void* a, const void* b, DataType type, std::int64_t count, Comparison* into,
                    cudaStream_t stream);

// --- the loss and the step around it (loss.cu) ---

/// Draws the step's key, forgets the last step's overflow.
void launch_begin_step(StepState* state, cudaStream_t stream);
/// Softmax cross-entropy against (1 - smoothing) · onehot + smoothing / classes: each image's loss, and its derivative
/// times the loss scale / images.
void launch_softmax_loss(const void* logits, const std::int32_t* labels, std::int64_t images, std::int64_t classes,
                         float smoothing, void* activation_gradient, float* losses, DataType type,
                         const StepState* state, cudaStream_t stream);
/// Adds the losses up in a fixed order: StepState::loss, loss_sum, not_finite_at.
void launch_reduce_loss(const float* losses, std::int64_t images, StepState* state, cudaStream_t stream);
/// Loss without smoothing, and 1 where the largest logit is the label's.
void launch_judge(const void* logits, const std::int32_t* labels, std::int64_t images, std::int64_t classes,
                  float* losses, std::int32_t* correct, DataType type, cudaStream_t stream);

// --- gradients and weights (update.cu) ---

/// Sets StepState::overflow where a gradient is not finite.
void launch_check_finite(const void* gradient, DataType type, std::int64_t count, StepState* state,
                         cudaStream_t stream);

/// Master weights of one section and what belongs to them; `copy` holds them in 16 bits or is null.
struct UpdateArrays {
  float* weights = nullptr;
  const void* gradient = nullptr;
  DataType gradient_type = DataType::F32;
  float* first = nullptr;   ///< Adadelta: mean square gradient; momentum: velocity
  float* second = nullptr;  ///< Adadelta: mean square update
  void* copy = nullptr;
  DataType copy_type = DataType::F32;
  std::int64_t count = 0;
};
struct AdadeltaRule {
  float rate = 1.0F, rho = 0.95F, epsilon = 1e-7F;
};
/// M. Zeiler, arXiv 1212.5701, algorithm 1, with the epsilon under the roots. Gradients are divided by the loss scale;
/// nothing happens after an overflow.
void launch_adadelta(const UpdateArrays& arrays, const AdadeltaRule& rule, const StepState* state, cudaStream_t stream);
/// v ← momentum · v + g + decay · w, w ← w - rate · v.
struct MomentumUpdate {
  float rate = 0.01F, momentum = 0.9F, decay = 0;
};
void launch_momentum(const UpdateArrays& arrays, const MomentumUpdate& rule, const StepState* state,
                     cudaStream_t stream);
/// Counts the step; with `dynamic` the loss scale follows (step_state.hpp).
void launch_end_step(StepState* state, bool dynamic, cudaStream_t stream);

}  // namespace nocturne::cuda
