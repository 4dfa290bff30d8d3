#include "measure/comparison/signed_rank.hpp"

#include <catch2/catch_test_macros.hpp>
#include <random>
#include <span>
#include <vector>

namespace nocturne::measure {

TEST_CASE("the interval of signed ranks is that of the tables", "[signed_rank]") {
  // Eight values, 95 %: sums of ranks up to 3 are left out, so that the fourth mean from each end is the end.
  const std::vector<double> values = {1, 2, 4, 8, 16, 32, 64, 128};
  const auto interval = signed_rank_interval(values, 0.95);
  REQUIRE(interval);
  CHECK(interval->low == 2.5);  // 1, 1.5, 2, 2.5
  CHECK(interval->high == 72);  // 128, 96, 80, 72
  const auto three = signed_rank_interval(std::vector<double>{1, 2, 9}, 0.5);
  REQUIRE(three);
  CHECK(three->middle == 3.5);  // 1, 1.5, 2, 5, 5.5, 9
}

TEST_CASE("signed ranks of too few values cannot be sure", "[signed_rank]") {
  const std::vector<double> values = {1, 2, 3, 4, 5, 6, 7, 8};
  const std::span<const double> all(values);
  CHECK_FALSE(signed_rank_interval(all.first(5), 0.95));
  CHECK(signed_rank_interval(all.first(6), 0.95));
  CHECK_FALSE(signed_rank_interval(all.first(7), 0.99));
  CHECK(signed_rank_interval(all, 0.99));
  CHECK_FALSE(signed_rank_interval({}, 0.5));
}

TEST_CASE("the interval of signed ranks holds the truth as often as its table says, with heavy tails too",
          "[signed_rank]") {
  // Ten values, 95 %: sums up to 8 are left out, which happens with 2 · 25 / 1024 = 4.9 %.
  std::mt19937_64 random(7);
  std::student_t_distribution<double> noise(4);
  int held = 0;
  for (int time = 0; time < 4000; ++time) {
    std::vector<double> values(10);
    for (double& value : values) value = 0.3 + noise(random);
    const auto interval = signed_rank_interval(values, 0.95);
    REQUIRE(interval);
    held += interval->low <= 0.3 && 0.3 <= interval->high ? 1 : 0;
  }
  INFO("held " << held << " of 4,000 times");
  CHECK(held > 0.94 * 4000);
  CHECK(held < 0.962 * 4000);
}

}  // namespace nocturne::measure
