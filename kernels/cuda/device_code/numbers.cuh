#pragma once

/// Numbers of 32 and 16 bits under one name, loads of 16 bytes, and the grid all flat kernels use.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/device/check.hpp"
#include "kernels/cuda/device_code/launchers.hpp"

namespace nocturne::cuda {

__device__ inline float to_float(float value) {
  return value;
}
__device__ inline float to_float(__half value) {
  return __half2float(value);
}
__device__ inline float to_float(__nv_bfloat16 value) {
  return __bfloat162float(value);
}

template <typename T>
__device__ T from_float(float value);
template <>
__device__ inline float from_float<float>(float value) {
  return value;
}
template <>
__device__ inline __half from_float<__half>(float value) {
  return __float2half_rn(value);
}
template <>
__device__ inline __nv_bfloat16 from_float<__nv_bfloat16>(float value) {
  return __float2bfloat16_rn(value);
}

/// Values that lie together: as many as one load takes, unless it says how many.
template <typename T, int Size = 16 / sizeof(T)>
struct alignas(Size * sizeof(T)) Pack {
  static constexpr int kSize = Size;
  T values[kSize];
};

inline constexpr int kThreads = 256;

/// Enough blocks to fill any GPU; each thread strides over what is left.
inline unsigned blocks_for(std::int64_t items) {
  constexpr std::int64_t kMost = 8192;
  return static_cast<unsigned>(std::clamp<std::int64_t>((items + kThreads - 1) / kThreads, 1, kMost));
}

__device__ inline std::int64_t first_item() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline std::int64_t item_stride() {
  return static_cast<std::int64_t>(gridDim.x) * blockDim.x;
}

/// Calls `work` with a value of the type that `type` names: work(float{}), work(__half{}), …
template <typename Work>
void with_type(DataType type, const Work& work) {
  switch (type) {
    case DataType::F32:
      work(float{});
      break;
    case DataType::Bf16:
      work(__nv_bfloat16{});
      break;
    case DataType::F16:
      work(__half{});
      break;
  }
}

inline void check_launch(const char* kernel) {
  check(cudaGetLastError(), kernel);
}

}  // namespace nocturne::cuda
