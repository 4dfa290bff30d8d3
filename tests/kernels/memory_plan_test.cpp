#include "kernels/onednn/plan/arena.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "kernels/data/counter_random.hpp"

namespace nocturne::onednn {
namespace {

using worker::Lifetime;

bool live_together(const Lifetime& a, const Lifetime& b) {
  return a.first <= b.last && b.first <= a.last;
}

// The most that any position holds: no placement can take less.
std::int64_t largest_sum(const std::vector<Lifetime>& buffers) {
  std::int64_t largest = 0;
  for (const Lifetime& at : buffers) {
    std::int64_t sum = 0;
    for (const Lifetime& each : buffers) sum += each.first <= at.first && at.first <= each.last ? each.bytes : 0;
    largest = std::max(largest, sum);
  }
  return largest;
}

}  // namespace

TEST_CASE("what lives at the same time never shares a byte", "[onednn]") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::vector<Lifetime> buffers;
    for (std::uint64_t i = 0; i < 60; ++i) {
      const auto bytes = static_cast<std::int64_t>(data::key_of(seed, i) % 100'000);
      const auto first = static_cast<std::int64_t>(data::key_of(seed, i, 1) % 100);
      const auto length = static_cast<std::int64_t>(data::key_of(seed, i, 2) % 30);
      buffers.push_back({.bytes = bytes, .first = first, .last = first + length});
    }
    const worker::MemoryPlan placement = place_buffers(buffers);
    for (std::size_t a = 0; a < buffers.size(); ++a) {
      REQUIRE(placement.offsets[a] % 64 == 0);
      REQUIRE(placement.offsets[a] + buffers[a].bytes <= placement.bytes);
      for (std::size_t b = 0; b < a; ++b) {
        if (!live_together(buffers[a], buffers[b])) continue;
        const bool apart = placement.offsets[a] + buffers[a].bytes <= placement.offsets[b] ||
                           placement.offsets[b] + buffers[b].bytes <= placement.offsets[a];
        REQUIRE(apart);
      }
    }
    CHECK(placement.bytes < largest_sum(buffers) * 3 / 2);
  }
}

TEST_CASE("a dead buffer's bytes are taken by the next, one that ends where another begins is not dead", "[onednn]") {
  const std::vector<Lifetime> chain = {{.bytes = 6400, .first = 0, .last = 1},
                                       {.bytes = 6400, .first = 2, .last = 3},
                                       {.bytes = 6400, .first = 3, .last = 4}};
  const worker::MemoryPlan placement = place_buffers(chain);
  CHECK(placement.offsets[0] == placement.offsets[1]);
  CHECK(placement.offsets[1] != placement.offsets[2]);
  CHECK(placement.bytes < 3 * 6400);
}

}  // namespace nocturne::onednn
