#pragma once

/// What the 32 threads of a warp do together.

#include "kernels/cuda/device_code/numbers.cuh"

namespace nocturne::cuda {

inline constexpr int kWarp = 32;
inline constexpr unsigned kAllLanes = 0xffffffffU;

/// Which warp of the grid this thread belongs to.
__device__ inline std::int64_t warp_index() {
  return first_item() / kWarp;
}

/// The sum over a warp, in a fixed order; every lane has it.
__device__ inline float warp_sum(float value) {
  for (int other = kWarp / 2; other > 0; other /= 2) value += __shfl_xor_sync(kAllLanes, value, other);
  return value;
}

}  // namespace nocturne::cuda
