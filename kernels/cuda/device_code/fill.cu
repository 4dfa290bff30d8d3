/// Values for tensors that are tried or timed.

#include "kernels/cuda/device_code/numbers.cuh"
#include "kernels/cuda/device_code/random.cuh"

namespace nocturne::cuda {
namespace {

template <typename T>
__global__ void fill(T* __restrict__ values, std::int64_t count, FillRule rule) {
  constexpr float kUnit = 1.0F / 8388608.0F;  // 24 bits become [0, 2)
  const std::uint64_t key = key_of(rule.seed, 0);
  for (std::int64_t i = first_item(); i < count; i += item_stride()) {
    const auto bits = static_cast<std::uint32_t>(draw(key, static_cast<std::uint64_t>(i)) >> 40);
    values[i] = from_float<T>(rule.centre + rule.spread * (static_cast<float>(bits) * kUnit - 1.0F));
  }
}

}  // namespace

void launch_fill(void* values, DataType type, std::int64_t count, const FillRule& rule, cudaStream_t stream) {
  if (count == 0) return;
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    fill<<<blocks_for(count), kThreads, 0, stream>>>(static_cast<T*>(values), count, rule);
  });
  check_launch("fill");
}

}  // namespace nocturne::cuda
