#pragma once

/// bfloat16: the upper half of an IEEE single, held as 16 bits.

#include <bit>
#include <cstdint>

namespace nocturne::onednn {

using Bfloat16 = std::uint16_t;

[[nodiscard]] inline float to_float(Bfloat16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16);
}

/// Rounds to nearest, ties to even, as oneDNN does. A NaN whose payload lies in the lower half becomes an infinity:
/// either way the loss is not finite.
[[nodiscard]] inline Bfloat16 to_bf16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<Bfloat16>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

/// Looks at the bits, so that it tells the truth under -ffast-math too, where the compiler may take every number for
/// finite.
[[nodiscard]] inline bool is_finite(float value) {
  return (std::bit_cast<std::uint32_t>(value) & 0x7f800000U) != 0x7f800000U;
}

}  // namespace nocturne::onednn
