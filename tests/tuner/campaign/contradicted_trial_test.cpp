#include "tuner/campaign/finals/contradicted_trial.hpp"

#include <cmath>
#include <vector>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

namespace nocturne::test {
namespace {

using Catch::Approx;
using tuner::contradicted_trial;

constexpr double kEpochs = 2;

space::Parts parts(double step, double import = 0) {
  return {.import = import, .steps_per_epoch = 100, .steady_step = step};
}

space::Trial trial(std::int64_t number, double step, double import = 0) {
  space::Trial made{.number = number, .outcome = space::Outcome::Ok, .parts = parts(step, import)};
  made.estimate = space::Estimate{.value = space::total_time(*made.parts, kEpochs), .runs = 1};
  return made;
}

double ratio(const space::Trial& one, const space::Trial& other) {
  return one.estimate->value / other.estimate->value;
}

}  // namespace

TEST_CASE("trials that agree with their pairs stay as they are, whatever the level of both", "[finals]") {
  const std::vector<measure::PairParts> pairs(3, {.baseline = parts(0.1), .candidate = parts(0.05)});
  CHECK_FALSE(contradicted_trial(trial(0, 0.1), trial(1, 0.05), pairs, kEpochs));
  CHECK_FALSE(contradicted_trial(trial(0, 0.3), trial(1, 0.15), pairs, kEpochs));    // in turns all is faster here
  CHECK_FALSE(contradicted_trial(trial(0, 0.1), trial(1, 0.0405), pairs, kEpochs));  // the best of many looks better
  CHECK(contradicted_trial(trial(0, 0.1), trial(1, 0.0395), pairs, kEpochs));
}

TEST_CASE("the trial that its own runs in the pairs deny is judged by them, and the pairs' ratio holds", "[finals]") {
  const std::vector<measure::PairParts> pairs = {{.baseline = parts(0.09, 1), .candidate = parts(0.045)},
                                                 {.baseline = parts(0.11, 3), .candidate = parts(0.055)}};
  const double true_ratio = (2 + 200 * 0.1) / (200 * 0.05);
  SECTION("the default") {
    // In pairs all takes 1.2 times as long as alone.
    const auto other = trial(7, 0.05 / 1.2);
    const auto judged = contradicted_trial(trial(0, 1.0, 5), other, pairs, kEpochs);
    REQUIRE(judged);
    CHECK(judged->trial.number == 0);
    CHECK(ratio(judged->trial, other) == Approx(true_ratio));
    CHECK(judged->trial.parts->import == Approx(2 / 1.2));
    CHECK(judged->trial.estimate->value == Approx(space::total_time(*judged->trial.parts, kEpochs)));
    CHECK(judged->trial.estimate->runs == 2);
    CHECK(judged->trial.estimate->standard_error > 0);
    CHECK(judged->sentence.starts_with("trial 0 took 11.18 times what it takes in 2 pairs"));
    CHECK_FALSE(contradicted_trial(judged->trial, other, pairs, kEpochs));  // once is enough
  }
  SECTION("the candidate") {
    const auto judged = contradicted_trial(trial(0, 0.1, 2), trial(7, 0.01), pairs, kEpochs);
    REQUIRE(judged);
    CHECK(judged->trial.number == 7);
    CHECK(judged->trial.parts->steady_step == Approx(0.05));
  }
}

TEST_CASE("one pair, or a trial without a time, denies nothing", "[finals]") {
  const std::vector<measure::PairParts> pairs(2, {.baseline = parts(0.1), .candidate = parts(0.1)});
  const auto baseline = trial(0, 1), candidate = trial(1, 0.1);
  CHECK(contradicted_trial(baseline, candidate, pairs, kEpochs));
  CHECK_FALSE(contradicted_trial(baseline, candidate, std::span(pairs).first(1), kEpochs));
  auto failed = candidate;
  failed.estimate.reset();
  CHECK_FALSE(contradicted_trial(baseline, failed, pairs, kEpochs));
}

}  // namespace nocturne::test
