#include "kernels/machine/arithmetic.hpp"

#include <array>
#include <cstddef>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace nocturne::machine {
namespace {

constexpr std::size_t kLanes = 64;

// x ← x/2 + 1 has the fixed point 2, reached exactly in f32 from 1 after 25 iterations.
double halve_and_add(std::int64_t iterations, float one) {
  std::array<float, kLanes> x;
  x.fill(one);
  const float half = one / 2;
  for (std::int64_t i = 0; i < iterations; ++i)
    for (float& lane : x) lane = lane * half + one;
  double sum = 0;
  for (const float lane : x) sum += static_cast<double>(lane);
  return sum;
}

double all_twos(std::int64_t) {
  return 2.0 * kLanes;
}

#if defined(__x86_64__)

// Peak loops in AVX2 and AVX-512 registers.
//
// Variants: avx2 (8 floats a register), avx512f (16), avx512_bf16 (dot product of 32 pairs of bf16, summed in f32).
// Each keeps 12 independent accumulators: an FMA takes 4 cycles and two begin per cycle, so 8 hide the latency; 12 also
// do where it takes 5 or 6, and fit into the 16 registers of AVX2 with the two constants.

constexpr int kAccumulators = 12;

__attribute__((target("avx2,fma"))) double run_avx2(std::int64_t iterations, float one) {
  __m256 x[kAccumulators];
  for (auto& accumulator : x) accumulator = _mm256_set1_ps(one);
  const __m256 half = _mm256_set1_ps(one / 2), addend = _mm256_set1_ps(one);
  for (std::int64_t i = 0; i < iterations; ++i)
    for (auto& accumulator : x) accumulator = _mm256_fmadd_ps(accumulator, half, addend);
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
  for (std::int64_t i = 0; i < iterations; ++i)
    for (auto& accumulator : x) accumulator = _mm512_fmadd_ps(accumulator, half, addend);
  return sum_of(x);
}

// Each lane of an accumulator grows by 1·1 + 1·1 = 2 per iteration.
__attribute__((target("avx512f,avx512bf16"))) double run_avx512_bf16(std::int64_t iterations, float one) {
  __m512 x[kAccumulators];
  for (auto& accumulator : x) accumulator = _mm512_setzero_ps();
  const __m512 ones = _mm512_set1_ps(one);
  const __m512bh factor = _mm512_cvtne2ps_pbh(ones, ones);
  for (std::int64_t i = 0; i < iterations; ++i)
    for (auto& accumulator : x) accumulator = _mm512_dpbf16_ps(accumulator, factor, factor);
  return sum_of(x);
}

// The fixed point of x ← x/2 + 1 in each lane (as in halve_and_add).
double all_twos_256(std::int64_t) {
  return 2.0 * 8 * kAccumulators;
}
double all_twos_512(std::int64_t) {
  return 2.0 * 16 * kAccumulators;
}
double counted(std::int64_t iterations) {
  return 2.0 * 16 * kAccumulators * static_cast<double>(iterations);
}

std::vector<ArithmeticKernel> x86_f32_kernels() {
  std::vector<ArithmeticKernel> kernels;
  if (__builtin_cpu_supports("avx512f"))
    kernels.push_back({"avx512f", 2.0 * 16 * kAccumulators, run_avx512f, all_twos_512});
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    kernels.push_back({"avx2", 2.0 * 8 * kAccumulators, run_avx2, all_twos_256});
  return kernels;
}

std::vector<ArithmeticKernel> x86_bf16_kernels() {
  std::vector<ArithmeticKernel> kernels;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bf16"))
    kernels.push_back({"avx512_bf16", 2.0 * 32 * kAccumulators, run_avx512_bf16, counted});
  return kernels;
}

#else

std::vector<ArithmeticKernel> x86_f32_kernels() {
  return {};
}
std::vector<ArithmeticKernel> x86_bf16_kernels() {
  return {};
}

#endif

}  // namespace

std::vector<ArithmeticKernel> f32_kernels() {
  std::vector<ArithmeticKernel> kernels = x86_f32_kernels();
  kernels.push_back({.name = "generic", .flops = 2.0 * kLanes, .run = halve_and_add, .expected = all_twos});
  return kernels;
}

std::vector<ArithmeticKernel> bf16_kernels() {
  return x86_bf16_kernels();
}

}  // namespace nocturne::machine
