#pragma once

/// Random numbers that are functions of a counter: no state, so the same numbers for any number of threads.

#include <cstdint>

namespace nocturne::onednn {

/// The finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014, figure 17): a bijection on 64 bits.
[[nodiscard]] inline std::uint64_t mix64(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31);
}

/// One well-mixed key from a seed and up to two numbers that tell its uses apart.
[[nodiscard]] inline std::uint64_t key_of(std::uint64_t seed, std::uint64_t first, std::uint64_t second = 0) {
  constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15U;  // 2^64 / golden ratio, SplitMix64's increment
  return mix64(mix64(mix64(seed + kGolden) + first * kGolden + 1) + second * kGolden + 2);
}

/// Uniform in [0, 1): 24 bits, as many as a float's mantissa holds.
[[nodiscard]] inline float uniform(std::uint64_t key, std::uint64_t counter) {
  return static_cast<float>(mix64(key + counter * 0x9e3779b97f4a7c15U) >> 40) * 0x1p-24F;
}

/// 32 mixed bits in 32-bit arithmetic, which vector units have: xor-shift and multiply with the constants of the
/// "lowbias32" search (C. Wellons, 2018), the second half of the key put in between the rounds so that two keys do not
/// give shifted copies of one sequence.
[[nodiscard]] inline std::uint32_t mix32(std::uint32_t counter, std::uint32_t key1, std::uint32_t key2) {
  std::uint32_t value = counter + key1;
  value = (value ^ (value >> 16)) * 0x7feb352dU;
  value = ((value ^ (value >> 15)) ^ key2) * 0x846ca68bU;
  return value ^ (value >> 16);
}

}  // namespace nocturne::onednn
