#pragma once

/// Random numbers that are functions of a counter: no state, so the same numbers for any number of threads, and in
/// every worker (kernels/python/nocturne_worker/counter_random.py has them too).

#include <cstdint>
#include <span>
#include <vector>

namespace nocturne::data {

inline constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15U;  ///< 2^64 / golden ratio, SplitMix64's increment

/// The finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014, figure 17): a bijection on 64 bits.
[[nodiscard]] inline std::uint64_t mix64(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31);
}

/// One well-mixed key from a seed and up to two numbers that distinguish its uses.
[[nodiscard]] inline std::uint64_t key_of(std::uint64_t seed, std::uint64_t first, std::uint64_t second = 0) {
  return mix64(mix64(mix64(seed + kGolden) + first * kGolden + 1) + second * kGolden + 2);
}

/// 64 bits for each counter.
[[nodiscard]] inline std::uint64_t draw(std::uint64_t key, std::uint64_t counter) {
  return mix64(key + counter * kGolden);
}

/// Uniform in [0, 1): 24 bits, as many as a float's mantissa holds.
[[nodiscard]] inline float uniform(std::uint64_t key, std::uint64_t counter) {
  return static_cast<float>(draw(key, counter) >> 40) * 0x1p-24F;
}

/// Fills `order` with a random permutation of [0, its size), the same for the same seed and epoch everywhere (Fisher
/// and Yates).
void order_epoch(std::span<std::int32_t> order, std::uint64_t seed, std::int64_t epoch);
/// The same, of [0, count).
[[nodiscard]] std::vector<std::int32_t> epoch_order(std::int64_t count, std::uint64_t seed, std::int64_t epoch);

}  // namespace nocturne::data
