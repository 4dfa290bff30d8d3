#include "measure/gate/loss_band.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <cmath>
#include <random>

namespace nocturne::measure {
namespace {

using Catch::Approx;
using Catch::Matchers::ContainsSubstring;

constexpr std::int64_t kSteps = 100;

/// An epoch of a loss that falls, times exp(shift); seeds scatter by a tenth a step and a hundredth as a whole.
space::Run epoch_of(std::mt19937_64& random, double shift = 0) {
  std::normal_distribution<double> normal;
  space::Run run;
  run.outcome = space::Outcome::Ok;
  const double whole = 0.01 * normal(random);
  for (std::int64_t step = 1; step < kSteps; ++step) {
    const double loss = 2.3 * std::pow(static_cast<double>(step), -0.5);
    run.samples.push_back(
        {.first_step = step, .steps = 1, .loss = loss * std::exp(shift + whole + 0.1 * normal(random))});
  }
  run.epochs = {{.index = 0, .loss = 0.3}};
  return run;
}

std::vector<space::Run> references_of(std::mt19937_64& random, std::size_t count) {
  std::vector<space::Run> runs;
  while (runs.size() < count) runs.push_back(epoch_of(random));
  return runs;
}

}  // namespace

TEST_CASE("a loss curve is the logarithms of stretches, epoch and last step", "[gate]") {
  space::Run run;
  for (std::int64_t step = 1; step <= 8; ++step)
    run.samples.push_back({.first_step = step, .steps = 1, .loss = step <= 4 ? 2.0 : 1.0});
  run.samples.back().loss = 5.0;
  run.epochs = {{.index = 0, .loss = 1.0}};
  const auto curve = loss_curve(run, 2);
  REQUIRE(curve);
  REQUIRE(curve->size() == 4);
  CHECK((*curve)[0] == Approx(std::log(2.0)));
  CHECK((*curve)[1] == Approx(std::log(2.0)));  // 1, 1, 1, 5
  CHECK((*curve)[2] == Approx(std::log(2.0)));  // the epoch
  CHECK((*curve)[3] == Approx(std::log(5.0)));  // the last step
}

TEST_CASE("only the first of several epochs is looked at", "[gate]") {
  space::Run run;
  for (std::int64_t step = 1; step < 20; ++step)
    run.samples.push_back({.first_step = step, .steps = 1, .loss = step < 10 ? 2.0 : 1.0});
  run.epochs = {{.index = 0, .loss = 2.0}, {.index = 1, .loss = 1.0}};
  const auto curve = loss_curve(run, 4);
  REQUIRE(curve);
  for (const double value : *curve) CHECK(value == Approx(std::log(2.0)));
}

TEST_CASE("an epoch without all its losses has no curve", "[gate]") {
  std::mt19937_64 random(1);
  space::Run run = epoch_of(random);
  run.samples[17].loss.reset();
  CHECK_THAT(loss_curve(run).error(), ContainsSubstring("the loss of step 19 is missing"));
  run.epochs.clear();
  CHECK_THAT(loss_curve(run).error(), ContainsSubstring("no whole epoch"));
}

TEST_CASE("a right trainer leaves the band at most as rarely as promised", "[gate]") {
  std::mt19937_64 random(7);
  constexpr int kTries = 1000;
  int alarms = 0;
  for (int i = 0; i < kTries; ++i) {
    const auto references = references_of(random, 6);
    if (!judge_losses(references, epoch_of(random), {.stretches = 20, .false_alarm = 0.05})->inside) ++alarms;
  }
  // 50 expected at most; 72 is three standard errors above. Without the quantile of t it would be hundreds.
  CHECK(alarms <= 72);
  CHECK(alarms >= 5);  // and the band is no wall
}

TEST_CASE("a trainer whose losses lie lower is outside, and the sentence says where", "[gate]") {
  std::mt19937_64 random(7);
  const auto references = references_of(random, 6);
  const auto judged = judge_losses(references, epoch_of(random, -0.4));
  REQUIRE(judged);
  CHECK_FALSE(judged->inside);
  CHECK(judged->largest > 1);
  CHECK_THAT(judged->sentence, ContainsSubstring("6 seeds of the reference say"));
  CHECK(judge_losses(references, epoch_of(random))->inside);
}

TEST_CASE("a last step that went wrong is seen", "[gate]") {
  std::mt19937_64 random(7);
  const auto references = references_of(random, 6);
  space::Run candidate = epoch_of(random);
  candidate.samples.back().loss = 9.0;
  const auto judged = judge_losses(references, candidate);
  REQUIRE(judged);
  CHECK_FALSE(judged->inside);
  CHECK_THAT(judged->sentence, ContainsSubstring("between 95 and 100 % of the epoch its mean loss is"));
}

TEST_CASE("too few seeds, or another epoch, give no band", "[gate]") {
  std::mt19937_64 random(7);
  auto references = references_of(random, 3);
  CHECK_THAT(judge_losses(references, epoch_of(random)).error(), ContainsSubstring("too few"));
  references = references_of(random, 4);
  space::Run shorter = epoch_of(random);
  shorter.samples.resize(10);
  CHECK_THAT(judge_losses(references, shorter).error(), ContainsSubstring("another number of samples"));
}

TEST_CASE("an accuracy is inferior only where the whole interval of the difference lies beyond the margin", "[gate]") {
  const auto of = [](double accuracy) { return space::Accuracy{.accuracy = accuracy, .loss = 0, .examples = 10'000}; };
  // sd of the difference near 0.98: 0.198 points; times 2.576: 0.51.
  CHECK_FALSE(compare_accuracy(of(0.98), of(0.98)).inferior);
  CHECK_FALSE(compare_accuracy(of(0.98), of(0.99)).inferior);
  CHECK_FALSE(compare_accuracy(of(0.98), of(0.971)).inferior);
  const AccuracyDifference worse = compare_accuracy(of(0.98), of(0.968));
  CHECK(worse.inferior);
  CHECK_THAT(worse.sentence, ContainsSubstring("is 96.80 %, the default's 98.00 %: lower by 1.20 points (99 % interval "
                                               "0.62 to 1.78), 0.5 are allowed"));
  CHECK_FALSE(compare_accuracy(of(0.98), of(0.968), {.margin_points = 1.0}).inferior);
}

}  // namespace nocturne::measure
