// Peak loops in AVX2 and AVX-512 registers.
//
// Variants: avx2 (8 floats a register), avx512f (16), avx512_bf16 (dot product of 32 pairs of bf16, summed in f32).
// Each keeps 12 independent accumulators: an FMA takes 4 cycles and two begin per cycle, so 8 hide the latency; 12 also
// do where it takes 5 or 6, and fit into the 16 registers of AVX2 with the two constants.

#include "kernels/machine/arithmetic_x86.hpp"

#if defined(__x86_64__)

#include <immintrin.h>

namespace nocturne::machine {
namespace {

constexpr int kAccumulators = 12;

__attribute__((target("avx2,fma"))) double run_avx2(std::int64_t iterations, float one) {
  __m256 x[kAccumulators];
  for (auto& accumulator : x) accumulator = _mm256_set1_ps(one);
  const __m256 half = _mm256_set1_ps(one / 2), addend = _mm256_set1_ps(one);
  for (std::int64_t i = 0; i < iterations; ++i) {
    for (auto& accumulator : x) accumulator = _mm256_fmadd_ps(accumulator, half, addend);
  }
  double sum = 0;
  for (const auto& accumulator : x) {
    alignas(32) float lanes[8];
    _mm256_store_ps(lanes, accumulator);
    for (const float lane : lanes) sum += static_cast<double>(lane);
  }
  return sum;
}

__attribute__((target("avx512f"))) double sum_of(const __m512* x) {
  double sum = 0;
  for (int k = 0; k < kAccumulators; ++k) {
    alignas(64) float lanes[16];
    _mm512_store_ps(lanes, x[k]);
    for (const float lane : lanes) sum += static_cast<double>(lane);
  }
  return sum;
}

__attribute__((target("avx512f"))) double run_avx512f(std::int64_t iterations, float one) {
  __m512 x[kAccumulators];
  for (auto& accumulator : x) accumulator = _mm512_set1_ps(one);
  const __m512 half = _mm512_set1_ps(one / 2), addend = _mm512_set1_ps(one);
  for (std::int64_t i = 0; i < iterations; ++i) {
    for (auto& accumulator : x) accumulator = _mm512_fmadd_ps(accumulator, half, addend);
  }
  return sum_of(x);
}

// Each lane of an accumulator grows by 1·1 + 1·1 = 2 per iteration.
__attribute__((target("avx512f,avx512bf16"))) double run_avx512_bf16(std::int64_t iterations, float one) {
  __m512 x[kAccumulators];
  for (auto& accumulator : x) accumulator = _mm512_setzero_ps();
  const __m512 ones = _mm512_set1_ps(one);
  const __m512bh factor = _mm512_cvtne2ps_pbh(ones, ones);
  for (std::int64_t i = 0; i < iterations; ++i) {
    for (auto& accumulator : x) accumulator = _mm512_dpbf16_ps(accumulator, factor, factor);
  }
  return sum_of(x);
}

// The fixed point of x ← x/2 + 1 in each lane (arithmetic.cpp).
double all_twos_256(std::int64_t) {
  return 2.0 * 8 * kAccumulators;
}
double all_twos_512(std::int64_t) {
  return 2.0 * 16 * kAccumulators;
}
double counted(std::int64_t iterations) {
  return 2.0 * 16 * kAccumulators * static_cast<double>(iterations);
}

}  // namespace

std::vector<ArithmeticKernel> x86_f32_kernels() {
  std::vector<ArithmeticKernel> kernels;
  if (__builtin_cpu_supports("avx512f")) {
    kernels.push_back({"avx512f", 2.0 * 16 * kAccumulators, run_avx512f, all_twos_512});
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    kernels.push_back({"avx2", 2.0 * 8 * kAccumulators, run_avx2, all_twos_256});
  }
  return kernels;
}

std::vector<ArithmeticKernel> x86_bf16_kernels() {
  std::vector<ArithmeticKernel> kernels;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bf16")) {
    kernels.push_back({"avx512_bf16", 2.0 * 32 * kAccumulators, run_avx512_bf16, counted});
  }
  return kernels;
}

}  // namespace nocturne::machine

#else

namespace nocturne::machine {

std::vector<ArithmeticKernel> x86_f32_kernels() {
  return {};
}
std::vector<ArithmeticKernel> x86_bf16_kernels() {
  return {};
}

}  // namespace nocturne::machine

#endif
