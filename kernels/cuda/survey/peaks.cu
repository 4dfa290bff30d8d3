/// Peak loops: what the units and the memory of a GPU can do when nothing else limits them.
///
/// Variants: fma (the f32 units), mma (tensor cores through mma.sync, which every architecture from 7.5 on has;
/// Hopper's wgmma is reached through cuDNN instead, gpu_loops.cpp), triad (device memory, STREAM).

#include "kernels/cuda/device_code/numbers.cuh"
#include "kernels/cuda/survey/peak_launchers.hpp"

namespace nocturne::cuda {
namespace {

__device__ void note_wrong(bool right, unsigned* wrong) {
  if (!right) atomicAdd(wrong, 1U);
}

__global__ void fma_chains(std::int64_t iterations, float half, float one, unsigned* wrong) {
  float x[kFmaChains];
#pragma unroll
  for (int k = 0; k < kFmaChains; ++k) x[k] = one;
#pragma unroll 4
  for (std::int64_t i = 0; i < iterations; ++i) {
#pragma unroll
    for (int k = 0; k < kFmaChains; ++k) x[k] = fmaf(x[k], half, one);
  }
  bool right = true;
#pragma unroll
  for (int k = 0; k < kFmaChains; ++k) right = right && x[k] == 2.0F * one;
  note_wrong(right, wrong);
}

// c += a · b for a pair of ones in each half of a register (16 bits) or one one (tf32). volatile: the compiler knows
// nothing of what it does.
template <MmaType kType>
__device__ void multiply(float (&c)[4], unsigned ones) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  if constexpr (kType == MmaType::Tf32) {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%4,%4}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(ones));
  } else if constexpr (kType == MmaType::Bf16) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%4,%4}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(ones));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%4,%4}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(ones));
  }
#else
  if constexpr (kType == MmaType::F16) {  // Turing multiplies half as deep at a time
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%4}, {%4}, {%0,%1,%2,%3};"
                   : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                   : "r"(ones));
    }
  } else {
    __trap();  // the host does not ask such a GPU
  }
#endif
}

template <MmaType kType, std::int64_t kDepth = mma_depth(kType)>  // computed by the host's compiler
__global__ void mma_chains(std::int64_t iterations, unsigned ones, unsigned* wrong) {
  float c[kMmaChains][4] = {};
#pragma unroll 4
  for (std::int64_t i = 0; i < iterations; ++i) {
#pragma unroll
    for (int k = 0; k < kMmaChains; ++k) multiply<kType>(c[k], ones);
  }
  const auto expected = static_cast<float>(iterations * kDepth);
  bool right = true;
#pragma unroll
  for (int k = 0; k < kMmaChains; ++k) {
#pragma unroll
    for (int element = 0; element < 4; ++element) right = right && c[k][element] == expected;
  }
  note_wrong(right, wrong);
}

// Exact in f32 with any scale that is a small whole number: fused or not, the sum is the same.
__device__ float b_at(std::int64_t i) {
  return static_cast<float>(i % 13);
}
__device__ float c_at(std::int64_t i) {
  return static_cast<float>(i % 7);
}

__global__ void fill_triad(TriadArrays arrays) {
  for (std::int64_t i = first_item(); i < arrays.count; i += item_stride()) {
    arrays.a[i] = -1.0F;
    arrays.b[i] = b_at(i);
    arrays.c[i] = c_at(i);
  }
}

__global__ void triad(float4* __restrict__ a, const float4* __restrict__ b, const float4* __restrict__ c, float scale,
                      std::int64_t count) {
  for (std::int64_t i = first_item(); i < count; i += item_stride()) {
    const float4 left = b[i], right = c[i];
    a[i] = make_float4(left.x + scale * right.x, left.y + scale * right.y, left.z + scale * right.z,
                       left.w + scale * right.w);
  }
}

__global__ void check_triad(TriadArrays arrays, float scale, unsigned* wrong) {
  for (std::int64_t i = first_item(); i < arrays.count; i += item_stride())
    note_wrong(arrays.a[i] == b_at(i) + scale * c_at(i), wrong);
}

template <typename T>
__global__ void check_equal(const T* __restrict__ values, float value, std::int64_t count, unsigned* wrong) {
  for (std::int64_t i = first_item(); i < count; i += item_stride()) note_wrong(to_float(values[i]) == value, wrong);
}

}  // namespace

void launch_fma(std::int64_t iterations, float half, float one, PeakGrid grid, unsigned* wrong, cudaStream_t stream) {
  fma_chains<<<grid.blocks, PeakGrid::kThreads, 0, stream>>>(iterations, half, one, wrong);
  check_launch("fma");
}

void launch_mma(MmaType type, std::int64_t iterations, PeakGrid grid, unsigned* wrong, cudaStream_t stream) {
  switch (type) {
    case MmaType::Tf32:
      mma_chains<MmaType::Tf32><<<grid.blocks, PeakGrid::kThreads, 0, stream>>>(iterations, 0x3f800000U, wrong);
      break;
    case MmaType::Bf16:
      mma_chains<MmaType::Bf16><<<grid.blocks, PeakGrid::kThreads, 0, stream>>>(iterations, 0x3f803f80U, wrong);
      break;
    case MmaType::F16:
      mma_chains<MmaType::F16><<<grid.blocks, PeakGrid::kThreads, 0, stream>>>(iterations, 0x3c003c00U, wrong);
      break;
  }
  check_launch("mma");
}

void launch_fill_triad(const TriadArrays& arrays, cudaStream_t stream) {
  fill_triad<<<blocks_for(arrays.count), kThreads, 0, stream>>>(arrays);
  check_launch("triad");
}

void launch_triad(const TriadArrays& arrays, float scale, cudaStream_t stream) {
  triad<<<blocks_for(arrays.count / 4), kThreads, 0, stream>>>(
      reinterpret_cast<float4*>(arrays.a), reinterpret_cast<const float4*>(arrays.b),
      reinterpret_cast<const float4*>(arrays.c), scale, arrays.count / 4);
  check_launch("triad");
}

void launch_check_triad(const TriadArrays& arrays, float scale, unsigned* wrong, cudaStream_t stream) {
  check_triad<<<blocks_for(arrays.count), kThreads, 0, stream>>>(arrays, scale, wrong);
  check_launch("triad");
}

void launch_check_equal(const void* values, float value, DataType type, std::int64_t count, unsigned* wrong,
                        cudaStream_t stream) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    check_equal<<<blocks_for(count), kThreads, 0, stream>>>(static_cast<const T*>(values), value, count, wrong);
  });
  check_launch("check");
}

}  // namespace nocturne::cuda
