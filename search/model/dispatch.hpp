#pragma once

/// Inner loops compiled twice: for any machine, and for x86 with AVX2, chosen when the program runs.
///
/// Only element by element arithmetic is written this way, without fused multiply-add, and lanes are summed one after
/// the other, so that both give the same bits: a campaign resumed on another machine proposes the same. Not
/// target_clones: its resolvers run before a sanitizer's runtime is ready.

#if defined(__x86_64__) && defined(__GNUC__)
#define NOCTURNE_HAS_AVX2_VARIANT 1
#ifdef __clang__
#define NOCTURNE_AVX2 __attribute__((target("avx2")))
#else
// With -O1 alone GCC leaves the upper halves of the registers in use (no vzeroupper), and whatever the process computes
// afterwards takes several times as long.
#define NOCTURNE_AVX2 __attribute__((target("avx2"), optimize("expensive-optimizations")))
#endif
#else
#define NOCTURNE_HAS_AVX2_VARIANT 0
#define NOCTURNE_AVX2
#endif
#define NOCTURNE_INLINE inline __attribute__((always_inline))

namespace nocturne::search::model {

[[nodiscard]] inline bool has_avx2() {
#if NOCTURNE_HAS_AVX2_VARIANT
  static const bool has = __builtin_cpu_supports("avx2");
  return has;
#else
  return false;
#endif
}

}  // namespace nocturne::search::model
