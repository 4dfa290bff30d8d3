#include "measure/gate/first_losses.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <cmath>
#include <random>

namespace nocturne::measure {
namespace {

using Catch::Approx;
using Catch::Matchers::ContainsSubstring;

constexpr std::size_t kFirstSteps = 50;

/// A loss that falls from 2.3; seeds scatter by 3 % as a whole and by 15 % a step, as those of the MNIST network do.
std::vector<double> losses_of_seed(std::mt19937_64& random, double shift = 0) {
  std::normal_distribution<double> normal;
  const double whole = 0.03 * normal(random);
  std::vector<double> losses;
  for (std::size_t i = 0; i < kFirstSteps; ++i) {
    losses.push_back(2.3 * std::pow(static_cast<double>(i + 1), -0.4) *
                     std::exp(shift + whole + 0.15 * normal(random)));
  }
  return losses;
}

std::vector<std::vector<double>> seeds_of(std::mt19937_64& random, std::size_t count) {
  std::vector<std::vector<double>> seeds;
  while (seeds.size() < count) seeds.push_back(losses_of_seed(random));
  return seeds;
}

}  // namespace

TEST_CASE("a further value lies in its prediction interval as often as promised", "[gate]") {
  const std::vector<double> values = {1, 2, 3, 4};
  const Prediction next = predict_next(values, 0.05);
  CHECK(next.mean == Approx(2.5));
  // s = sqrt(5/3), t(0.975; 3) = 3.18245
  CHECK(next.half == Approx(3.18245 * std::sqrt(5.0 / 3) * std::sqrt(1.25)).epsilon(1e-5));
}

TEST_CASE("of the first steps a right trainer leaves the band at most as rarely as promised", "[gate]") {
  std::mt19937_64 random(11);
  constexpr int kTries = 1000;
  int alarms = 0;
  for (int i = 0; i < kTries; ++i) {
    const auto seeds = seeds_of(random, 12);
    if (!judge_first_losses(seeds, losses_of_seed(random), {.stretches = 5, .false_alarm = 0.05})->inside) ++alarms;
  }
  CHECK(alarms <= 72);  // 50 expected at most; three standard errors above
  CHECK(alarms >= 5);   // and the band is no wall
}

TEST_CASE("losses that are lower by a quarter everywhere are seen in the means, though in no single step", "[gate]") {
  std::mt19937_64 random(11);
  const auto seeds = seeds_of(random, 24);
  const auto judged = judge_first_losses(seeds, losses_of_seed(random, -0.25));
  REQUIRE(judged);
  CHECK_FALSE(judged->inside);
  CHECK(judged->largest > 1);
  CHECK_THAT(judged->sentence, ContainsSubstring("the mean loss of steps") && ContainsSubstring("24 seeds of the"));
  CHECK(judge_first_losses(seeds, losses_of_seed(random))->inside);
}

TEST_CASE("the step after which it left the band is the first of all", "[gate]") {
  std::mt19937_64 random(11);
  const auto seeds = seeds_of(random, 24);
  auto candidate = losses_of_seed(random);
  candidate[30] *= 8;
  candidate[40] *= 50;
  const auto judged = judge_first_losses(seeds, candidate);
  REQUIRE(judged);
  CHECK_FALSE(judged->inside);
  CHECK(judged->step == 32);  // the first reported step is the second trained
  CHECK_THAT(judged->sentence, ContainsSubstring("the loss of step 32 is"));
}

TEST_CASE("the first losses of a run are those of its first reported steps", "[gate]") {
  space::Run run;
  for (std::int64_t step = 1; step <= 5; ++step)
    run.samples.push_back({.first_step = step, .steps = 1, .loss = static_cast<double>(step)});
  REQUIRE(first_losses(run, 3));
  CHECK(*first_losses(run, 3) == std::vector<double>{1, 2, 3});
  CHECK_THAT(first_losses(run, 6).error(), ContainsSubstring("5 steps are reported, 6 are needed"));
  run.samples[1].loss.reset();
  CHECK_THAT(first_losses(run, 3).error(), ContainsSubstring("the loss of step 3 is missing"));
  run.samples[0].steps = 2;
  CHECK_THAT(first_losses(run, 3).error(), ContainsSubstring("several steps"));
}

TEST_CASE("too few seeds, or other lengths, give no band of first losses", "[gate]") {
  std::mt19937_64 random(11);
  auto seeds = seeds_of(random, 3);
  CHECK_THAT(judge_first_losses(seeds, seeds[0]).error(), ContainsSubstring("too few"));
  seeds = seeds_of(random, 4);
  seeds[2].pop_back();
  CHECK_THAT(judge_first_losses(seeds, seeds[0]).error(), ContainsSubstring("another number of steps"));
}

}  // namespace nocturne::measure
