/// Batch normalisation from sums that a fused convolution took: one small kernel for the channels, one pass over the
/// values.

#include "kernels/cuda/device_code/channels.cuh"
#include "kernels/cuda/device_code/numbers.cuh"

namespace nocturne::cuda {
namespace {

__global__ void finish_statistics(NormalisationArrays arrays, float epsilon, float momentum) {
  const auto count = static_cast<float>(arrays.per_channel);
  for (std::int64_t c = first_item(); c < arrays.channels; c += item_stride()) {
    const float mean = arrays.sums[c] / count;
    const float apart = arrays.squares[c] / count - mean * mean;
    const float variance = apart < 0.0F ? 0.0F : apart;  // a NaN stays one
    const float unbiased = arrays.per_channel > 1 ? variance * (count / (count - 1.0F)) : variance;
    arrays.mean[c] = mean;
    arrays.inverse_deviation[c] = 1.0F / sqrtf(variance + epsilon);
    arrays.running_mean[c] += momentum * (mean - arrays.running_mean[c]);
    arrays.running_variance[c] += momentum * (unbiased - arrays.running_variance[c]);
  }
}

template <typename T, typename Index>
__global__ void normalise(const T* __restrict__ in, T* __restrict__ out, NormalisationArrays arrays, Index count,
                          Channels<Index> channel_of, bool relu) {
  using P = Pack<T>;
  const Index packs = count / P::kSize;
  const auto stride = static_cast<Index>(item_stride());
  const auto normalised = [&](Index i, float value) {
    const Index c = channel_of(i);
    const float result = (value - arrays.mean[c]) * (arrays.inverse_deviation[c] * arrays.scale[c]) + arrays.shift[c];
    return from_float<T>(relu && result < 0.0F ? 0.0F : result);
  };
  for (auto i = static_cast<Index>(first_item()); i < packs; i += stride) {
    P own = reinterpret_cast<const P*>(in)[i];
#pragma unroll
    for (int k = 0; k < P::kSize; ++k) own.values[k] = normalised(i * P::kSize + k, to_float(own.values[k]));
    reinterpret_cast<P*>(out)[i] = own;
  }
  for (Index i = packs * P::kSize + static_cast<Index>(first_item()); i < count; i += stride)
    out[i] = normalised(i, to_float(in[i]));
}

}  // namespace

void launch_finish_statistics(const NormalisationArrays& arrays, float epsilon, float momentum, cudaStream_t stream) {
  finish_statistics<<<blocks_for(arrays.channels), kThreads, 0, stream>>>(arrays, epsilon, momentum);
  check_launch("finish_statistics");
}

void launch_normalise(const void* in, void* out, const NormalisationArrays& arrays, DataType type, std::int64_t count,
                      const ChannelOrder& order, bool relu, cudaStream_t stream) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    const unsigned blocks = blocks_for((count + Pack<T>::kSize - 1) / Pack<T>::kSize);
    if (is_small(count)) {
      normalise<<<blocks, kThreads, 0, stream>>>(static_cast<const T*>(in), static_cast<T*>(out), arrays,
                                                 static_cast<std::uint32_t>(count), channels_of<std::uint32_t>(order),
                                                 relu);
    } else {
      normalise<<<blocks, kThreads, 0, stream>>>(static_cast<const T*>(in), static_cast<T*>(out), arrays,
                                                 static_cast<std::uint64_t>(count), channels_of<std::uint64_t>(order),
                                                 relu);
    }
  });
  check_launch("normalise");
}

}  // namespace nocturne::cuda
