#include "measure/comparison/break_even.hpp"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

namespace nocturne::measure {
namespace {

using Catch::Approx;

/// T(N) = start + N · epoch, one step an epoch.
space::Parts line(double start, double epoch) {
  return {.compile = start, .steps_per_epoch = 1, .steady_step = epoch};
}

/// Pairs of a plain side and one that starts `start` later and whose epoch takes `epoch`; noise on both epochs.
std::vector<PairParts> noisy_pairs(double start, double epoch, double noise, unsigned seed, int count = 8) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> process_sd(0, noise);
  std::vector<PairParts> pairs;
  for (int i = 0; i < count; ++i) {
    pairs.push_back({.baseline = line(1, 10 * std::exp(process_sd(generator))),
                     .candidate = line(1 + start, epoch * std::exp(process_sd(generator)))});
  }
  return pairs;
}

}  // namespace

TEST_CASE("who starts later and trains faster leads from the break-even on", "[break-even]") {
  // 40 s more for the start, 2 s less an epoch: 20 epochs.
  const BreakEven result = break_even(noisy_pairs(40, 8, 1e-9, 1));
  CHECK(result.at_first == Lead::Baseline);
  CHECK(result.at_last == Lead::Candidate);
  REQUIRE(result.epochs);
  CHECK(*result.epochs == Approx(20).epsilon(0.001));
  CHECK(result.low == Approx(20).epsilon(0.03));
  CHECK(result.high == Approx(20).epsilon(0.03));
}

TEST_CASE("the interval of a break-even holds the truth about as often as it says", "[break-even]") {
  int held = 0;
  constexpr int kExperiments = 300;
  for (unsigned seed = 0; seed < kExperiments; ++seed) {
    const BreakEven result = break_even(noisy_pairs(40, 8, 0.03, seed));
    held += result.low <= 20 && 20 <= result.high;
  }
  CHECK(held >= 0.92 * kExperiments);
  CHECK(held <= 0.98 * kExperiments);
}

TEST_CASE("where the epochs cannot be distinguished the break-even has no upper bound", "[break-even]") {
  const BreakEven result = break_even(noisy_pairs(40, 9.9, 0.05, 4));
  CHECK(result.at_first == Lead::Baseline);
  CHECK(result.at_last == Lead::Open);
  CHECK(result.low > 1);
  CHECK(result.high == std::numeric_limits<double>::infinity());
}

TEST_CASE("who leads throughout has no break-even", "[break-even]") {
  const BreakEven result = break_even(noisy_pairs(-0.5, 8, 0.01, 5));
  CHECK(result.at_first == Lead::Candidate);
  CHECK(result.at_last == Lead::Candidate);
  CHECK_FALSE(result.epochs);
  CHECK(result.low == Approx(kMostEpochs));
}

TEST_CASE("who starts sooner and trains slower leads up to the break-even", "[break-even]") {
  const BreakEven result = break_even(noisy_pairs(-0.9, 10.3, 0.001, 6));
  CHECK(result.at_first == Lead::Candidate);
  CHECK(result.at_last == Lead::Baseline);
  REQUIRE(result.epochs);
  CHECK(*result.epochs == Approx(3).epsilon(0.1));
  CHECK(result.low < *result.epochs);
  CHECK(result.high > *result.epochs);
}

}  // namespace nocturne::measure
