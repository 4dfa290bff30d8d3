#include "measure/comparison/noise.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <random>
#include <vector>

#include "measure/comparison/comparison.hpp"

namespace nocturne::measure {

using Catch::Approx;

TEST_CASE("the noise of equal pairs is their standard deviation, what favours a side their mean", "[noise]") {
  const Noise noise = noise_of(std::vector{0.02, 0.04, 0.00, 0.02});
  CHECK(noise.pairs == 4);
  CHECK(noise.bias == Approx(0.02));
  CHECK(noise.sd == Approx(std::sqrt(0.0008 / 3)));
}

TEST_CASE("pairs to resolve a difference agree with the usual formula where there are many", "[noise]") {
  // Two-sided 5 %, power 80 %: (1.95996 + 0.84162)² (sd/δ)² = 7.849 · 25 = 196, and about two more for the unknown sd.
  const double delta = std::log1p(0.01);
  CHECK(pairs_to_resolve(5 * delta, 1).value() == Approx(198).margin(1));
  CHECK(pairs_to_resolve(0, 1).value() == 2);
  CHECK_FALSE(pairs_to_resolve(100, 0.001).has_value());
}

TEST_CASE("what so many pairs resolve is what needs so many pairs", "[noise]") {
  for (const int pairs : {2, 3, 6, 20, 300}) {
    const double percent = resolution_percent(0.03, pairs);
    CHECK(pairs_to_resolve(0.03, percent * 1.0001).value() == pairs);
    CHECK(pairs_to_resolve(0.03, percent * 0.9999).value() == pairs + 1);
  }
}

TEST_CASE("an interval tells the spread that made it", "[noise]") {
  const std::vector<double> ratios = {-0.01, 0.02, 0.03, -0.02, 0.01, 0.0};
  const Comparison compared = compare(ratios);
  const double half = (std::log1p(compared.high_percent / 100) - std::log1p(compared.low_percent / 100)) / 2;
  CHECK(sd_of_interval(half, 6, 0.95) == Approx(noise_of(ratios).sd));
}

TEST_CASE("the power that is promised is there", "[noise]") {
  const double sd = 0.03;
  const double truth = std::log1p(resolution_percent(sd, 6) / 100);
  std::mt19937_64 random(5);
  std::normal_distribution<double> pair(truth, sd);
  int found = 0;
  for (int campaign = 0; campaign < 4000; ++campaign) {
    std::vector<double> ratios(6);
    for (double& ratio : ratios) ratio = pair(random);
    found += compare(ratios).verdict == Verdict::Faster ? 1 : 0;
  }
  CHECK(found / 4000.0 == Approx(0.8).margin(0.05));
}

}  // namespace nocturne::measure
