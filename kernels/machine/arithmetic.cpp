#include "kernels/machine/arithmetic.hpp"

#include <array>
#include <cstddef>

#include "kernels/machine/arithmetic_x86.hpp"

namespace nocturne::machine {
namespace {

constexpr std::size_t kLanes = 64;

// x ← x/2 + 1 has the fixed point 2, reached exactly in f32 from 1 after 25 iterations.
double halve_and_add(std::int64_t iterations, float one) {
  std::array<float, kLanes> x;
  x.fill(one);
  const float half = one / 2;
  for (std::int64_t i = 0; i < iterations; ++i) {
    for (float& lane : x) lane = lane * half + one;
  }
  double sum = 0;
  for (const float lane : x) sum += static_cast<double>(lane);
  return sum;
}

double all_twos(std::int64_t) {
  return 2.0 * kLanes;
}

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
