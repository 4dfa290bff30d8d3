#include "measure/comparison/warm_up.hpp"

#include <catch2/catch_test_macros.hpp>
#include <random>
#include <vector>

namespace nocturne::measure {
namespace {

std::vector<double> noisy(std::size_t count, double level, double sigma, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> noise(level, sigma);
  std::vector<double> values(count);
  for (double& value : values) value = noise(generator);
  return values;
}

}  // namespace

TEST_CASE("a warm-up of three slow steps is dropped, all of it and nothing else", "[warm_up]") {
  const std::vector<double> steps = {90, 70, 60, 50.1, 49.9, 50.0, 50.2, 49.8, 50.1, 50.0};
  CHECK(detect_warm_up(steps) == WarmUp{.samples = 3, .settled = true});
}

TEST_CASE("a steady series keeps all its samples", "[warm_up]") {
  CHECK(detect_warm_up(std::vector<double>(20, 47.0)) == WarmUp{.samples = 0, .settled = true});
  int kept_whole = 0;
  for (unsigned seed = 1; seed <= 200; ++seed) kept_whole += detect_warm_up(noisy(40, 50, 2, seed)).samples == 0;
  CHECK(kept_whole >= 185);
}

TEST_CASE("the shortest series that is judged has six samples", "[warm_up]") {
  CHECK(detect_warm_up(std::vector<double>{99, 50, 50, 50, 50}) == WarmUp{.samples = 0, .settled = false});
  CHECK(detect_warm_up(std::vector<double>{99, 50, 51, 50, 50, 51}) == WarmUp{.samples = 1, .settled = true});
  CHECK(detect_warm_up({}) == WarmUp{.samples = 0, .settled = false});
}

TEST_CASE("a spike in the middle is no warm-up", "[warm_up]") {
  std::vector<double> steps = noisy(40, 50, 1, 7);
  steps[15] = 400;
  steps[16] = 300;
  CHECK(detect_warm_up(steps).samples == 0);
}

TEST_CASE("a clock that falls from its boost is found too: early steps may be faster", "[warm_up]") {
  std::vector<double> steps = noisy(40, 50, 0.5, 3);
  for (std::size_t i = 0; i < 8; ++i) steps[i] -= 10;
  const WarmUp warm_up = detect_warm_up(steps);
  CHECK(warm_up.samples == 8);
  CHECK(warm_up.settled);
}

TEST_CASE("long series are judged in batches of five", "[warm_up]") {
  std::vector<double> steps = noisy(100, 50, 1, 5);
  for (std::size_t i = 0; i < 12; ++i) steps[i] += 30;
  CHECK(detect_warm_up(steps).samples == 15);
}

TEST_CASE("a series that still moves at its middle has not settled", "[warm_up]") {
  std::vector<double> steps;
  for (int i = 0; i < 40; ++i) steps.push_back(i < 25 ? 100.0 - 2.0 * i : 50.0 + 0.01 * (i % 3));
  CHECK_FALSE(detect_warm_up(steps).settled);
}

}  // namespace nocturne::measure
