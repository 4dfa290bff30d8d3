#pragma once

/// Random numbers that are functions of a counter, on the device: the functions of kernels/data/counter_random.hpp.

#include <cstdint>

namespace nocturne::cuda {

__device__ inline std::uint64_t mix64(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31);
}

inline constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15U;

__device__ inline std::uint64_t key_of(std::uint64_t seed, std::uint64_t first, std::uint64_t second = 0) {
  return mix64(mix64(mix64(seed + kGolden) + first * kGolden + 1) + second * kGolden + 2);
}

__device__ inline std::uint64_t draw(std::uint64_t key, std::uint64_t counter) {
  return mix64(key + counter * kGolden);
}

}  // namespace nocturne::cuda
