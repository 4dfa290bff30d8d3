/// Kernels over flat arrays: one pass over memory each, 16 bytes a load.

#include "kernels/cuda/device_code/channels.cuh"
#include "kernels/cuda/device_code/numbers.cuh"
#include "kernels/cuda/device_code/random.cuh"

namespace nocturne::cuda {
namespace {

// out[i] = function(i, out[i], a[i], b[i]) in f32; arrays that a function does not read may be any. `kReads` says which
// are loaded: 1 out, 2 a, 4 b.
template <int kReads, typename T, typename Function>
__global__ void map(T* __restrict__ out, const T* a, const T* b, std::int64_t count, Function function) {
  using P = Pack<T>;
  const std::int64_t packs = count / P::kSize;
  for (std::int64_t i = first_item(); i < packs; i += item_stride()) {
    P own{}, first{}, second{};
    if constexpr ((kReads & 1) != 0) own = reinterpret_cast<const P*>(out)[i];
    if constexpr ((kReads & 2) != 0) first = reinterpret_cast<const P*>(a)[i];
    if constexpr ((kReads & 4) != 0) second = reinterpret_cast<const P*>(b)[i];
#pragma unroll
    for (int k = 0; k < P::kSize; ++k) {
      own.values[k] = from_float<T>(
          function(i * P::kSize + k, to_float(own.values[k]), to_float(first.values[k]), to_float(second.values[k])));
    }
    reinterpret_cast<P*>(out)[i] = own;
  }
  // The last few, where the count is no multiple of a load.
  for (std::int64_t i = packs * P::kSize + first_item(); i < count; i += item_stride()) {
    const float own = (kReads & 1) != 0 ? to_float(out[i]) : 0.0F;
    const float first = (kReads & 2) != 0 ? to_float(a[i]) : 0.0F;
    const float second = (kReads & 4) != 0 ? to_float(b[i]) : 0.0F;
    out[i] = from_float<T>(function(i, own, first, second));
  }
}

template <int kReads, typename Function>
void launch_map(const char* name, void* out, const void* a, const void* b, DataType type, std::int64_t count,
                cudaStream_t stream, const Function& function) {
  if (count == 0) return;
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t packs = (count + Pack<T>::kSize - 1) / Pack<T>::kSize;
    map<kReads><<<blocks_for(packs), kThreads, 0, stream>>>(static_cast<T*>(out), static_cast<const T*>(a),
                                                            static_cast<const T*>(b), count, function);
  });
  check_launch(name);
}

// A NaN stays one, here and wherever else something is rectified: the loss must show it.
struct Rectify {
  __device__ float operator()(std::int64_t, float own, float, float) const { return own < 0.0F ? 0.0F : own; }
};
struct Gate {
  __device__ float operator()(std::int64_t, float own, float output, float) const { return output > 0.0F ? own : 0.0F; }
};
struct Add {
  bool relu;
  __device__ float operator()(std::int64_t, float, float a, float b) const {
    const float sum = a + b;
    return relu && sum < 0.0F ? 0.0F : sum;
  }
};
struct Accumulate {
  __device__ float operator()(std::int64_t, float own, float from, float) const { return own + from; }
};

template <typename T>
__global__ void convert(const float* __restrict__ in, T* __restrict__ out, std::int64_t count) {
  for (std::int64_t i = first_item(); i < count; i += item_stride()) out[i] = from_float<T>(in[i]);
}

template <typename T, typename Index>
__global__ void scale(const std::uint8_t* __restrict__ bytes, const PixelScaling* __restrict__ scaling,
                      T* __restrict__ out, Index count, Channels<Index> channel_of) {
  const auto stride = static_cast<Index>(item_stride());
  for (auto i = static_cast<Index>(first_item()); i < count; i += stride) {
    const PixelScaling rule = scaling[channel_of(i)];
    out[i] = from_float<T>(static_cast<float>(bytes[i]) * rule.factor + rule.offset);
  }
}

template <typename T, typename Index>
__global__ void add_bias(T* __restrict__ values, const T* __restrict__ bias, Index count, Channels<Index> channel_of,
                         bool relu) {
  using P = Pack<T>;
  const Index packs = count / P::kSize;
  const auto stride = static_cast<Index>(item_stride());
  const auto biased = [&](Index i, float value) {
    const float sum = value + to_float(bias[channel_of(i)]);
    return from_float<T>(relu && sum < 0.0F ? 0.0F : sum);
  };
  for (auto i = static_cast<Index>(first_item()); i < packs; i += stride) {
    P own = reinterpret_cast<const P*>(values)[i];
#pragma unroll
    for (int k = 0; k < P::kSize; ++k) own.values[k] = biased(i * P::kSize + k, to_float(own.values[k]));
    reinterpret_cast<P*>(values)[i] = own;
  }
  for (Index i = packs * P::kSize + static_cast<Index>(first_item()); i < count; i += stride)
    values[i] = biased(i, to_float(values[i]));
}

// Eight values share one draw of 64 bits, a byte each.
template <typename T>
__global__ void dropout(const T* __restrict__ in, T* __restrict__ out, std::int64_t count, DropoutRule rule,
                        const StepState* state) {
  const std::uint64_t key = key_of(state->dropout_key, rule.row);
  const std::int64_t groups = (count + 7) / 8;
  for (std::int64_t group = first_item(); group < groups; group += item_stride()) {
    std::uint64_t bits = draw(key, static_cast<std::uint64_t>(group));
    const std::int64_t end = count < group * 8 + 8 ? count : group * 8 + 8;
    for (std::int64_t i = group * 8; i < end; ++i, bits >>= 8) {
      const bool kept = (bits & 255U) >= rule.dropped;
      float value = kept ? to_float(in[i]) * rule.scale : 0.0F;
      if (rule.accumulate) value += to_float(out[i]);
      out[i] = from_float<T>(value);
    }
  }
}

}  // namespace

void launch_convert(const float* in, void* out, DataType type, std::int64_t count, cudaStream_t stream) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    convert<<<blocks_for(count), kThreads, 0, stream>>>(in, static_cast<T*>(out), count);
  });
  check_launch("convert");
}

void launch_scale(const RawImages& images, void* out, DataType type, std::int64_t count, const ChannelOrder& order,
                  cudaStream_t stream) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    if (is_small(count)) {
      scale<<<blocks_for(count), kThreads, 0, stream>>>(images.bytes, images.scaling, static_cast<T*>(out),
                                                        static_cast<std::uint32_t>(count),
                                                        channels_of<std::uint32_t>(order));
    } else {
      scale<<<blocks_for(count), kThreads, 0, stream>>>(images.bytes, images.scaling, static_cast<T*>(out),
                                                        static_cast<std::uint64_t>(count),
                                                        channels_of<std::uint64_t>(order));
    }
  });
  check_launch("scale");
}

void launch_add_bias(void* values, const void* bias, DataType type, std::int64_t count, const ChannelOrder& order,
                     bool relu, cudaStream_t stream) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    const unsigned blocks = blocks_for((count + Pack<T>::kSize - 1) / Pack<T>::kSize);
    if (is_small(count)) {
      add_bias<<<blocks, kThreads, 0, stream>>>(static_cast<T*>(values), static_cast<const T*>(bias),
                                                static_cast<std::uint32_t>(count), channels_of<std::uint32_t>(order),
                                                relu);
    } else {
      add_bias<<<blocks, kThreads, 0, stream>>>(static_cast<T*>(values), static_cast<const T*>(bias),
                                                static_cast<std::uint64_t>(count), channels_of<std::uint64_t>(order),
                                                relu);
    }
  });
  check_launch("add_bias");
}

void launch_rectify(void* values, DataType type, std::int64_t count, cudaStream_t stream) {
  launch_map<1>("rectify", values, nullptr, nullptr, type, count, stream, Rectify{});
}

void launch_gate(void* activation_gradient, const void* output, DataType type, std::int64_t count,
                 cudaStream_t stream) {
  launch_map<3>("gate", activation_gradient, output, nullptr, type, count, stream, Gate{});
}

void launch_add(void* out, const void* a, const void* b, DataType type, std::int64_t count, bool relu,
                cudaStream_t stream) {
  launch_map<6>("add", out, a, b, type, count, stream, Add{relu});
}

void launch_accumulate(void* into, const void* from, DataType type, std::int64_t count, cudaStream_t stream) {
  launch_map<3>("accumulate", into, from, nullptr, type, count, stream, Accumulate{});
}

void launch_dropout(const void* in, void* out, DataType type, std::int64_t count, const DropoutRule& rule,
                    const StepState* state, cudaStream_t stream) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    dropout<<<blocks_for((count + 7) / 8), kThreads, 0, stream>>>(static_cast<const T*>(in), static_cast<T*>(out),
                                                                  count, rule, state);
  });
  check_launch("dropout");
}

}  // namespace nocturne::cuda
