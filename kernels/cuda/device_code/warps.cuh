#pragma once

/// What the 32 threads of a warp do together.

#include <cuda_runtime.h>

namespace nocturne::cuda {

inline constexpr int kWarp = 32;
inline constexpr unsigned kAllLanes = 0xffffffffU;

/// The sum over a warp, in a fixed order; every lane has it.
__device__ inline float warp_sum(float value) {
  for (int other = kWarp / 2; other > 0; other /= 2) value += __shfl_xor_sync(kAllLanes, value, other);
  return value;
}

}  // namespace nocturne::cuda
