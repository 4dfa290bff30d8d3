#include "space/random.hpp"

#include <catch2/catch_test_macros.hpp>
#include <set>
#include <vector>

namespace nocturne::space {

TEST_CASE("Philox gives the published vectors", "[random]") {
  // Random123, kat_vectors, philox4x32-10.
  using Four = std::array<std::uint32_t, 4>;
  CHECK(philox({0, 0, 0, 0}, {0, 0}) == Four{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}) ==
        Four{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Four{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("the same seed and stream repeat, others do not", "[random]") {
  Random a(7, 3);
  Random b(7, 3);
  Random c(7, 4);
  Random d(8, 3);
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i) {
    const auto bits = a.bits();
    CHECK(bits == b.bits());
    seen.insert({bits, c.bits(), d.bits()});
  }
  CHECK(seen.size() == 3000);
}

TEST_CASE("draws below a bound are uniform", "[random]") {
  Random random(1);
  std::vector<int> hits(6, 0);
  for (int i = 0; i < 60'000; ++i) ++hits[random.below(std::uint64_t{6})];
  double statistic = 0;
  for (const auto each : hits) statistic += (each - 10'000.0) * (each - 10'000.0) / 10'000.0;
  CHECK(statistic < 20.5);  // chi-square, 5 degrees of freedom, 99.9 %
  for (int i = 0; i < 1000; ++i) CHECK(random.below(std::uint64_t{1}) == 0);
}

TEST_CASE("draws below a bound of more than 64 bits reach its upper part", "[random]") {
  Random random(1);
  const Count bound = Count(~std::uint64_t{0}) * Count(3);
  int upper = 0;
  for (int i = 0; i < 3000; ++i) {
    const auto drawn = random.below(bound);
    REQUIRE(drawn < bound);
    if (drawn > Count(~std::uint64_t{0}) * Count(2)) ++upper;
  }
  CHECK(upper > 850);
  CHECK(upper < 1150);
}

TEST_CASE("a shuffle keeps everything and reaches every order", "[random]") {
  std::set<std::vector<int>> orders;
  for (std::uint64_t stream = 0; stream < 200; ++stream) {
    std::vector<int> items = {1, 2, 3};
    Random(5, stream).shuffle(std::span(items));
    orders.insert(items);
  }
  CHECK(orders.size() == 6);
}

TEST_CASE("a unit draw is at least 0 and below 1", "[random]") {
  Random random(2);
  double sum = 0;
  for (int i = 0; i < 10'000; ++i) {
    const double unit = random.unit();
    REQUIRE(unit >= 0);
    REQUIRE(unit < 1);
    sum += unit;
  }
  CHECK(sum > 4800);
  CHECK(sum < 5200);
}

}  // namespace nocturne::space
