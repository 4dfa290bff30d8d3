#pragma once

/// Random numbers that are the same everywhere: a counter-based generator and draws of our own.
///
/// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011, section 3.3):
/// a block of output is a keyed bijection of a counter. The key is the seed, the upper half of the counter the stream,
/// the lower half the block number; so the streams of one seed never overlap, and stream k needs no walk through k - 1.
/// Standard distributions are not used: their results differ between standard libraries.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "space/count.hpp"

namespace nocturne::space {

/// A value: a copy continues from the same point. Not thread-safe; give each thread its own stream.
class Random {
 public:
  explicit Random(std::uint64_t seed, std::uint64_t stream = 0) : seed_(seed), stream_(stream) {}

  /// 64 uniform bits.
  [[nodiscard]] std::uint64_t bits();
  /// Uniform over 0 … bound - 1, without bias. REQUIRES: bound > 0.
  [[nodiscard]] std::uint64_t below(std::uint64_t bound);
  [[nodiscard]] Count below(Count bound);
  /// Uniform over [0, 1), multiples of 2⁻⁵³.
  [[nodiscard]] double unit();
  /// Fisher-Yates.
  template <class T>
  void shuffle(std::span<T> items) {
    for (std::size_t left = items.size(); left > 1; --left) {
      using std::swap;
      swap(items[left - 1], items[static_cast<std::size_t>(below(static_cast<std::uint64_t>(left)))]);
    }
  }

 private:
  std::uint64_t seed_;
  std::uint64_t stream_;
  std::uint64_t block_ = 0;
  std::array<std::uint64_t, 2> output_{};
  unsigned used_ = 2;  // of output_
};

/// One block of Philox4x32-10, for tests against the published vectors.
[[nodiscard]] std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                                  std::array<std::uint32_t, 2> key);

}  // namespace nocturne::space
