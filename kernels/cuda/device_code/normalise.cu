/// Batch normalisation: sums over the channels, then one pass over the values; the rectifier behind it goes along,
/// forward and backward. (The worker's steps of ResNet50 in bf16, f16 and tf32 took 219 to 246 ms on an H200 with
/// cuDNN's functions of the time before graphs, whatever convolution served, against 64 ms of PyTorch:
/// examples/README.md.)

#include "kernels/cuda/device_code/channel_passes.cuh"

namespace nocturne::cuda {
namespace {

/// Of one channel, from the sums of its values less `centre`, and of their squares.
__device__ void finish_channel(const NormalisationArrays& arrays, std::int64_t c, float sum, float square, float centre,
                               const NormalisationRule& rule) {
  const auto count = static_cast<float>(arrays.per_channel);
  const float off = sum / count, mean = centre + off;
  const float apart = square / count - off * off;
  const float variance = apart < 0.0F ? 0.0F : apart;  // a NaN stays one
  const float unbiased = arrays.per_channel > 1 ? variance * (count / (count - 1.0F)) : variance;
  arrays.mean[c] = mean;
  arrays.inverse_deviation[c] = 1.0F / sqrtf(variance + rule.epsilon);
  arrays.running_mean[c] += rule.momentum * (mean - arrays.running_mean[c]);
  arrays.running_variance[c] += rule.momentum * (unbiased - arrays.running_variance[c]);
}

__global__ void finish_statistics(NormalisationArrays arrays, NormalisationRule rule) {
  for (std::int64_t c = first_item(); c < arrays.channels; c += item_stride())
    finish_channel(arrays, c, arrays.sums[c], arrays.squares[c], 0.0F, rule);
}

__global__ void running_statistics(NormalisationArrays arrays, float epsilon) {
  for (std::int64_t c = first_item(); c < arrays.channels; c += item_stride()) {
    arrays.mean[c] = arrays.running_mean[c];
    arrays.inverse_deviation[c] = 1.0F / sqrtf(arrays.running_variance[c] + epsilon);
  }
}

/// Sums of what the values are apart from their channel's first one, and of the squares of that.
template <typename T>
struct Moments {
  static constexpr int kTerms = 2;
  static constexpr bool kTwo = false;
  using Constants = float;
  const T* values;
  std::int64_t stride;  // from a channel's first value to the next one's
  NormalisationArrays arrays;
  NormalisationRule rule;
  __device__ float of(std::int64_t channel) const { return to_float(values[channel * stride]); }
  __device__ void add(float (&sums)[kTerms], float value, float /*second*/, float centre) const {
    const float apart = value - centre;
    sums[0] += apart;
    sums[1] += apart * apart;
  }
  __device__ void finish(std::int64_t channel, const float (&sums)[kTerms]) const {
    finish_channel(arrays, channel, sums[0], sums[1], of(channel), rule);
  }
};

/// (in - mean) · factor + shift.
struct Normalise {
  static constexpr bool kTwo = false;
  struct Constants {
    float mean, factor, shift;
  };
  NormalisationArrays arrays;
  bool relu;
  __device__ Constants of(std::int64_t channel) const {
    return {arrays.mean[channel], arrays.inverse_deviation[channel] * arrays.scale[channel], arrays.shift[channel]};
  }
  __device__ float value(float in, float /*second*/, const Constants& constants) const {
    const float result = (in - constants.mean) * constants.factor + constants.shift;
    return relu && result < 0.0F ? 0.0F : result;
  }
};

/// Whether the rectifier let a value through; what was no number has no gradient either.
__device__ bool passes(bool relu, float in, const Normalise::Constants& constants) {
  return !relu || (in - constants.mean) * constants.factor + constants.shift > 0.0F;
}

/// Σ dy and Σ dy · x̂.
struct GradientSums {
  static constexpr int kTerms = 2;
  static constexpr bool kTwo = true;
  struct Constants {
    Normalise::Constants forward;
    float inverse;
  };
  Normalise forward;
  float *scale_gradient, *shift_gradient;
  __device__ Constants of(std::int64_t channel) const {
    return {forward.of(channel), forward.arrays.inverse_deviation[channel]};
  }
  __device__ void add(float (&sums)[kTerms], float in, float dy, const Constants& constants) const {
    if (!passes(forward.relu, in, constants.forward)) return;
    sums[0] += dy;
    sums[1] += dy * ((in - constants.forward.mean) * constants.inverse);
  }
  __device__ void finish(std::int64_t channel, const float (&sums)[kTerms]) const {
    shift_gradient[channel] = sums[0];
    scale_gradient[channel] = sums[1];
  }
};

/// dx = factor · (dy - (Σ dy + x̂ · Σ dy · x̂) / n).
struct Backward {
  static constexpr bool kTwo = true;
  struct Constants {
    Normalise::Constants forward;
    float slope, offset;  // of what is taken off, over in - mean
  };
  Normalise forward;
  const float *scale_gradient, *shift_gradient;
  __device__ Constants of(std::int64_t channel) const {
    const Normalise::Constants ahead = forward.of(channel);
    const float share = ahead.factor / static_cast<float>(forward.arrays.per_channel);
    return {ahead, share * scale_gradient[channel] * forward.arrays.inverse_deviation[channel],
            share * shift_gradient[channel]};
  }
  __device__ float value(float in, float dy, const Constants& constants) const {
    const float passed = passes(forward.relu, in, constants.forward) ? dy * constants.forward.factor : 0.0F;
    return passed - ((in - constants.forward.mean) * constants.slope + constants.offset);
  }
};

}  // namespace

void launch_finish_statistics(const NormalisationArrays& arrays, const NormalisationRule& rule, cudaStream_t stream) {
  finish_statistics<<<blocks_for(arrays.channels), kThreads, 0, stream>>>(arrays, rule);
  check_launch("finish_statistics");
}

void launch_running_statistics(const NormalisationArrays& arrays, float epsilon, cudaStream_t stream) {
  running_statistics<<<blocks_for(arrays.channels), kThreads, 0, stream>>>(arrays, epsilon);
  check_launch("running_statistics");
}

void launch_batch_statistics(const void* values, float* parts, DataType type, std::int64_t count,
                             const ChannelOrder& order, const NormalisationArrays& arrays,
                             const NormalisationRule& rule, cudaStream_t stream) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    const auto* in = static_cast<const T*>(values);
    const std::int64_t stride = order.layout == Layout::Nhwc ? 1 : order.pixels;
    launch_sums<T>(in, nullptr, parts, count, order, Moments<T>{in, stride, arrays, rule}, stream);
  });
  check_launch("batch_statistics");
}

void launch_normalise(const void* in, void* out, const NormalisationArrays& arrays, DataType type, std::int64_t count,
                      const ChannelOrder& order, bool relu, cudaStream_t stream) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    const FunctionArrays<T> over{.first = static_cast<const T*>(in), .out = static_cast<T*>(out)};
    launch_function(over, count, order, Normalise{arrays, relu}, stream);
  });
  check_launch("normalise");
}

void launch_normalise_backward(const NormalisationGradients& gradients, float* parts, const NormalisationArrays& arrays,
                               DataType type, std::int64_t count, const ChannelOrder& order, cudaStream_t stream) {
  const Normalise forward{arrays, gradients.relu};
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    const FunctionArrays<T> over{.first = static_cast<const T*>(gradients.in),
                                 .second = static_cast<const T*>(gradients.dy),
                                 .out = static_cast<T*>(gradients.dx),
                                 .accumulate = gradients.accumulate};
    launch_sums<T>(over.first, over.second, parts, count, order,
                   GradientSums{forward, gradients.scale, gradients.shift}, stream);
    if (gradients.dx == nullptr) return;
    launch_function(over, count, order, Backward{forward, gradients.scale, gradients.shift}, stream);
  });
  check_launch("normalise_backward");
}

}  // namespace nocturne::cuda
