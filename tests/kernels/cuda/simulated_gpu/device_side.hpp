#pragma once

/// What device code finds around it when it is compiled for the CPU (device_code.py): where a thread is, threads that
/// wait for each other, atomics, and launches. Included before any other header.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <math.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <tuple>

#include "tests/kernels/cuda/simulated_gpu/simulated_streams.hpp"
#include "tests/kernels/cuda/simulated_gpu/simulated_threads.hpp"

// Blocks run one after the other: what one shares is there once.
#undef __shared__
#define __shared__ static
#define __CUDA_ARCH__ 900

inline void __syncthreads() {
  nocturne::simulated::wait_for_block();
}

// Each lane leaves its value and takes another's when all have left theirs. Two places in turn: nobody is more than one
// exchange ahead.
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int other) {
  static_assert(sizeof(T) <= sizeof(std::uint64_t));
  if (mask != 0xffffffffU) nocturne::simulated::fail("a shuffle of less than a warp");
  nocturne::simulated::Warp& warp = nocturne::simulated::warp_of_thread();
  const unsigned lane = threadIdx.x % nocturne::simulated::kWarp;
  std::uint64_t* places = warp.exchanged[warp.turn[lane]++ % 2];
  std::memcpy(&places[lane], &value, sizeof value);
  nocturne::simulated::wait_for_warp();
  T got;
  std::memcpy(&got, &places[lane ^ static_cast<unsigned>(other)], sizeof got);
  return got;
}

inline unsigned __float_as_uint(float value) {
  return std::bit_cast<unsigned>(value);
}
inline unsigned atomicMax(unsigned* into, unsigned value) {
  const unsigned before = *into;
  *into = std::max(before, value);
  return before;
}
inline unsigned atomicAdd(unsigned* into, unsigned value) {
  const unsigned before = *into;
  *into += value;
  return before;
}

namespace nocturne::simulated {

/// kernel<<<blocks, threads, shared, stream>>>(arguments): the arguments are copied when it is launched.
class Launch {
 public:
  Launch(unsigned blocks, unsigned threads, unsigned shared, cudaStream_t stream)
      : blocks_(blocks), threads_(threads), stream_(stream) {
    if (blocks == 0 || threads == 0 || threads > 1024 || shared != 0) fail("a grid that no GPU takes");
  }
  template <typename Kernel, typename... Arguments>
  void operator()(Kernel kernel, Arguments... arguments) const {
    enqueue(
        stream_,
        [=, blocks = blocks_, threads = threads_] { run_grid(blocks, threads, [&] { kernel(arguments...); }); },
        blocks_ == 1 ? 0.1F : 1.0F);
  }

 private:
  unsigned blocks_, threads_;
  cudaStream_t stream_;
};

/// mma.sync with all lanes' factors alike: each of its sums grows by depth · a · b.
inline void multiply_ones(float (&sums)[4], unsigned ones, int depth) {
  if (ones != 0x3f800000U && ones != 0x3f803f80U && ones != 0x3c003c00U) fail("mma.sync of other numbers than ones");
  for (float& each : sums) each += static_cast<float>(depth);
}

}  // namespace nocturne::simulated
