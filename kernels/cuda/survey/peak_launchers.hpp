#pragma once

/// Kernels that do nothing but show how fast a GPU is, as functions that put them on a stream and return at once
/// (peaks.cu). Each can tell whether it was really run: `wrong` counts what is not as it must be.

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/cuda/device_code/launchers.hpp"

namespace nocturne::cuda {

/// A grid that fills the GPU several times over.
struct PeakGrid {
  unsigned blocks = 1;
  static constexpr unsigned kThreads = 256;
  [[nodiscard]] std::int64_t threads() const { return static_cast<std::int64_t>(blocks) * kThreads; }
  [[nodiscard]] std::int64_t warps() const { return threads() / 32; }
};

inline constexpr int kFmaChains = 16;  ///< independent ones of each thread: an FMA takes 4 cycles
inline constexpr int kMmaChains = 8;   ///< independent chains of each warp

/// x ← x · half + one in each chain of each thread, from x = one. With half = 1/2 and one = 1 all end at 2, exactly
/// after 25 iterations: `wrong` counts the threads in which one does not. Two operations a chain and iteration.
void launch_fma(std::int64_t iterations, float half, float one, PeakGrid grid, unsigned* wrong, cudaStream_t stream);

/// What tensor cores multiply.
enum class MmaType { Tf32, Bf16, F16 };
/// One instruction multiplies a 16 × k matrix by k × 8; k fills 32 bytes of a row.
[[nodiscard]] constexpr std::int64_t mma_depth(MmaType type) {
  return type == MmaType::Tf32 ? 8 : 16;
}
[[nodiscard]] constexpr std::int64_t mma_flops(MmaType type) {
  return std::int64_t{2} * 16 * 8 * mma_depth(type);
}
/// Tensor cores may add with fewer bits than f32 has: sums that stay below are exact on all of them.
inline constexpr std::int64_t kLargestMmaSum = 1 << 20;
/// c ← ones · ones + c in each chain of each warp, summed in f32: each element ends at iterations · depth, which is at
/// most kLargestMmaSum. `wrong` counts the threads in which one does not. tf32 and bf16 need compute capability 8.0.
void launch_mma(MmaType type, std::int64_t iterations, PeakGrid grid, unsigned* wrong, cudaStream_t stream);

/// Three arrays of f32: a ← b + scale · c.
struct TriadArrays {
  float *a = nullptr, *b = nullptr, *c = nullptr;
  std::int64_t count = 0;  ///< values of each array; a multiple of 4
};
inline constexpr std::int64_t kTriadBytes = 12;  ///< moved for each element
/// Small whole numbers into b and c, -1 into a.
void launch_fill_triad(const TriadArrays& arrays, cudaStream_t stream);
void launch_triad(const TriadArrays& arrays, float scale, cudaStream_t stream);
/// `wrong` counts the elements of a that are not what b and c give; `scale` is a small whole number.
void launch_check_triad(const TriadArrays& arrays, float scale, unsigned* wrong, cudaStream_t stream);

/// `wrong` counts the values that are not this one.
void launch_check_equal(const void* values, float value, DataType type, std::int64_t count, unsigned* wrong,
                        cudaStream_t stream);

}  // namespace nocturne::cuda
