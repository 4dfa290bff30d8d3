#pragma once

/// The threads of a grid, simulated one at a time: each runs until it waits for others or ends.

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>

#include "tests/kernels/cuda/simulated_gpu/simulated_memory.hpp"

/// The thread that runs; one dimension, for no kernel has more.
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;

namespace nocturne::simulated {

inline constexpr unsigned kWarp = 32;

/// Lanes that exchange values.
struct Warp {
  std::uint64_t exchanged[2][kWarp] = {};
  unsigned turn[kWarp] = {};
};

[[nodiscard]] Warp& warp_of_thread();
/// Wait until all lanes of the warp, or all threads of the block that have not ended, wait here too.
void wait_for_warp();
void wait_for_block();

void run_grid(unsigned blocks, unsigned threads, const std::function<void()>& kernel);

}  // namespace nocturne::simulated
