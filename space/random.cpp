#include "space/random.hpp"

namespace nocturne::space {

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  // Multipliers and Weyl increments: table 2 and section 3.3 of the paper.
  constexpr std::uint64_t kMultiplier0 = 0xD2511F53;
  constexpr std::uint64_t kMultiplier1 = 0xCD9E8D57;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9;
  constexpr std::uint32_t kWeyl1 = 0xBB67AE85;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = kMultiplier0 * counter[0];
    const std::uint64_t product1 = kMultiplier1 * counter[2];
    const auto high0 = static_cast<std::uint32_t>(product0 >> 32U);
    const auto high1 = static_cast<std::uint32_t>(product1 >> 32U);
    counter = {high1 ^ counter[1] ^ key[0], static_cast<std::uint32_t>(product1), high0 ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

std::uint64_t Random::bits() {
  const auto low = [](std::uint64_t word) { return static_cast<std::uint32_t>(word); };
  const auto high = [](std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32U); };
  const auto join = [](std::uint32_t a, std::uint32_t b) { return a | (static_cast<std::uint64_t>(b) << 32U); };
  if (used_ == output_.size()) {
    const auto block = philox({low(block_), high(block_), low(stream_), high(stream_)}, {low(seed_), high(seed_)});
    output_ = {join(block[0], block[1]), join(block[2], block[3])};
    ++block_;
    used_ = 0;
  }
  return output_[used_++];
}

std::uint64_t Random::below(std::uint64_t bound) {
  // The first 2⁶⁴ mod bound values are thrown away, so that each remainder has equally many.
  const std::uint64_t rest = (0 - bound) % bound;
  for (;;) {
    const std::uint64_t draw = bits();
    if (draw >= rest) return draw % bound;
  }
}

Count Random::below(Count bound) {
  const Count::Bits range = bound.bits();
  if (range <= ~std::uint64_t{0}) return below(static_cast<std::uint64_t>(range));
  const Count::Bits rest = (Count::Bits{0} - range) % range;
  for (;;) {
    const Count::Bits upper = bits();
    const Count::Bits draw = (upper << 64U) | bits();
    if (draw >= rest) return Count::from_bits(draw % range);
  }
}

double Random::unit() {
  return static_cast<double>(bits() >> 11U) * 0x1p-53;
}

}  // namespace nocturne::space
