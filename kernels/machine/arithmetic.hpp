#pragma once

/// Loops that do nothing but multiply and add, in registers: how fast the machine computes at best.
///
/// Each kernel knows what its sum must be, so that a result shows that the loop was run and not optimised away.
/// The instructions are chosen when the program runs; no compiler flag is needed.

#include <cstdint>
#include <string>
#include <vector>

namespace nocturne::machine {

struct ArithmeticKernel {
  std::string name;  ///< "avx512f", "avx2", "generic", "avx512_bf16", "amx_bf16"
  double flops = 0;  ///< operations of one iteration; a multiplication and an addition are two
  /// Runs that many iterations and returns the sum of all accumulators. `one` is 1: the compiler must not know.
  double (*run)(std::int64_t iterations, float one) = nullptr;
  /// What the sum must be, exactly. Holds for 64 ≤ iterations ≤ kMostIterations.
  double (*expected)(std::int64_t iterations) = nullptr;
};

/// More would round the accumulators of the bf16 kernels (they count in f32 by twos, exact up to 2^24).
inline constexpr std::int64_t kMostIterations = std::int64_t{1} << 22;

/// Those this processor can run, fastest first. Never empty for f32; bf16: empty without AVX512_BF16.
[[nodiscard]] std::vector<ArithmeticKernel> f32_kernels();
[[nodiscard]] std::vector<ArithmeticKernel> bf16_kernels();

}  // namespace nocturne::machine
