#include "search/model/covariance.hpp"

#include <array>
#include <cstdint>

#include <catch2/catch_test_macros.hpp>

#include "search/model/dispatch.hpp"

#if NOCTURNE_HAS_AVX2_VARIANT
#include <cpuid.h>
#endif

namespace nocturne::search::model {
namespace {

#if NOCTURNE_HAS_AVX2_VARIANT
/// Whether the processor says which registers are in use.
bool says_what_is_in_use() {
  std::uint32_t a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(0xD, 1, &a, &b, &c, &d) != 0 && (a & 4U) != 0;
}

/// Whether the upper halves of vector registers are in use: bit 2 of XINUSE (Intel, Software Developer's Manual, volume
/// 1, section 13.6). As long as they are, code without AVX waits for them at each instruction.
bool upper_halves_in_use() {
  std::uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
  return (low & 4U) != 0;
}
#endif

}  // namespace

TEST_CASE("what is computed with AVX leaves no upper halves of registers in use", "[model]") {
#if NOCTURNE_HAS_AVX2_VARIANT
  if (!has_avx2() || !says_what_is_in_use()) return;
  __asm__ volatile("vzeroupper");
  if (upper_halves_in_use()) return;  // a processor may say so of unused ones, too
  constexpr std::size_t kLength = 64;
  alignas(64) std::array<float, kLength> row{}, first{}, second{}, result{}, parts{}, product{};
  row.fill(0.5F);
  const PointTerms point{.terms = {{.row = row.data(), .weight = 0.25F}}, .closeness = {row.data()}};
  covariance_row(point, Scales{.weights = {1}}, kLength, result.data());
  CHECK_FALSE(upper_halves_in_use());
  covariance_parts(point, kLength, result.data(), parts.data(), product.data());
  CHECK_FALSE(upper_halves_in_use());
  double sum = 0;
  term_sums(point, kLength, first.data(), second.data(), &sum);
  CHECK_FALSE(upper_halves_in_use());
  std::array<float, kBlock> mean{}, explained{};
  const std::array<float, 4 * kBlock> covariances{};
  explain_block(row.data(), 4, 0, 4, first.data(), covariances.data(), mean.data(), explained.data());
  CHECK_FALSE(upper_halves_in_use());
#endif
}

}  // namespace nocturne::search::model
