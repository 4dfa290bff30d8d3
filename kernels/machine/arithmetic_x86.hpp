#pragma once

/// The kernels of 64-bit x86; empty lists elsewhere.

#include <vector>

#include "kernels/machine/arithmetic.hpp"

namespace nocturne::machine {

[[nodiscard]] std::vector<ArithmeticKernel> x86_f32_kernels();   ///< avx512f, avx2
[[nodiscard]] std::vector<ArithmeticKernel> x86_bf16_kernels();  ///< avx512_bf16

}  // namespace nocturne::machine
