/// The gradient of a bias. cuDNN's own sums for it refuse bf16 (CUDNN_STATUS_NOT_SUPPORTED, cuDNN 9 on an H200).

#include "kernels/cuda/device_code/channel_passes.cuh"

namespace nocturne::cuda {
namespace {

template <typename T>
struct Sum {
  static constexpr int kTerms = 1;
  static constexpr bool kTwo = false;
  struct Constants {};
  T* sums;
  __device__ Constants of(std::int64_t /*channel*/) const { return {}; }
  __device__ void add(float (&sum)[kTerms], float value, float /*second*/, Constants /*none*/) const {
    sum[0] += value;
  }
  __device__ void finish(std::int64_t channel, const float (&sum)[kTerms]) const {
    sums[channel] = from_float<T>(sum[0]);
  }
};

}  // namespace

std::int64_t channel_sums_bytes(std::int64_t count, const ChannelOrder& order) {
  constexpr int kMostTerms = 2;
  return floats_for_sums(rows_for_sums(count, order), kMostTerms) * static_cast<std::int64_t>(sizeof(float));
}

void launch_sum_channels(const void* values, void* sums, float* parts, DataType type, std::int64_t count,
                         const ChannelOrder& order, cudaStream_t stream) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    launch_sums<T>(static_cast<const T*>(values), nullptr, parts, count, order, Sum<T>{static_cast<T*>(sums)}, stream);
  });
  check_launch("sum_channels");
}

}  // namespace nocturne::cuda
