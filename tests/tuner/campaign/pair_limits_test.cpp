#include "tuner/campaign/pair_limits.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace nocturne;
using tuner::PairLimits;

namespace {

space::Run run_of(space::Outcome outcome, std::optional<int> exit_code, std::int64_t steps) {
  space::Run run{.outcome = outcome, .exit_code = exit_code};
  for (std::int64_t i = 0; i < steps; ++i) run.samples.push_back({.first_step = i + 1, .steps = 1});
  return run;
}

tuner::PairAnswer answer_of(space::Run baseline, space::Run candidate) {
  tuner::PairAnswer answer;
  answer.pair.baseline.run = std::move(baseline);
  answer.pair.candidate.run = std::move(candidate);
  return answer;
}

tuner::PairOrder order_of(std::int64_t baseline, std::int64_t candidate) {
  return {.index = 3, .baseline = {.slice_steps = baseline}, .candidate = {.slice_steps = candidate}, .slices = 6};
}

const space::Run kPartner = run_of(space::Outcome::Killed, std::nullopt, 60);

}  // namespace

TEST_CASE("turns are as short as a command needs that ends by itself", "[turns]") {
  PairLimits turns;
  CHECK(turns.fitted(order_of(60, 64)).candidate.slice_steps == 64);
  const auto said = turns.learn(order_of(60, 60), answer_of(kPartner, run_of(space::Outcome::Failed, 0, 90)));
  CHECK(said == "pair 3: the command ended by itself after 90 timed steps: turns have 11 steps from now on, not 60");
  const auto fitted = turns.fitted(order_of(30, 60));
  CHECK(fitted.baseline.slice_steps == 5);
  CHECK(fitted.candidate.slice_steps == 11);
  CHECK(turns.fitted(order_of(4, 8)).candidate.slice_steps == 8);
  CHECK(turns.fitted(order_of(1, 60)).baseline.slice_steps == 1);
}

TEST_CASE("a limit becomes only shorter", "[turns]") {
  PairLimits turns;
  REQUIRE(turns.learn(order_of(60, 60), answer_of(run_of(space::Outcome::Failed, 0, 90), kPartner)));
  REQUIRE(turns.learn(order_of(60, 60), answer_of(run_of(space::Outcome::Failed, 0, 120), kPartner)));
  CHECK(turns.fitted(order_of(60, 60)).baseline.slice_steps == 11);
  REQUIRE(turns.learn(order_of(60, 60), answer_of(run_of(space::Outcome::Failed, 0, 60), kPartner)));
  CHECK(turns.fitted(order_of(60, 60)).baseline.slice_steps == 5);
}

TEST_CASE("steps that no turn's time has are the command's all the same", "[turns]") {
  PairLimits turns;  // 68 steps: three turns were begun, of which each leaves five out
  REQUIRE(turns.learn(order_of(11, 19), answer_of(kPartner, run_of(space::Outcome::Failed, 0, 53))));
  CHECK(turns.fitted(order_of(11, 19)).candidate.slice_steps == 6);
}

TEST_CASE("a pair that failed otherwise, or has no shorter turns, has failed", "[turns]") {
  PairLimits turns;
  const auto order = order_of(10, 10);
  CHECK_FALSE(turns.learn(order, answer_of(run_of(space::Outcome::Failed, 1, 90), kPartner)));
  CHECK_FALSE(turns.learn(order, answer_of(run_of(space::Outcome::Crashed, 0, 50), kPartner)));
  CHECK_FALSE(turns.learn(order, answer_of(run_of(space::Outcome::Failed, std::nullopt, 50), kPartner)));
  CHECK_FALSE(turns.learn(order, answer_of(run_of(space::Outcome::Failed, 0, 15), kPartner)));
  CHECK_FALSE(turns.learn(order, answer_of(run_of(space::Outcome::Failed, 0, 60), kPartner)));
  CHECK(turns.learn(order, answer_of(run_of(space::Outcome::Failed, 0, 59), kPartner)));
}

TEST_CASE("a command that fails beside the other one has pairs one after the other", "[turns]") {
  const auto in_turns = order_of(60, 60);
  const auto failed = run_of(space::Outcome::Failed, 1, 0);
  CHECK(tuner::failed_beside_the_other(in_turns, answer_of(kPartner, failed)));
  CHECK(tuner::failed_beside_the_other(in_turns, answer_of(failed, kPartner)));
  CHECK_FALSE(
      tuner::failed_beside_the_other(in_turns, answer_of(kPartner, run_of(space::Outcome::Failed, std::nullopt, 0))));
  CHECK_FALSE(tuner::failed_beside_the_other(in_turns, answer_of(kPartner, run_of(space::Outcome::Failed, 0, 90))));
  CHECK_FALSE(tuner::failed_beside_the_other(in_turns, answer_of(kPartner, run_of(space::Outcome::Crashed, 1, 0))));
  auto after_each_other = in_turns;
  after_each_other.method = measure::PairMethod::Sequential;
  CHECK_FALSE(tuner::failed_beside_the_other(after_each_other, answer_of(kPartner, failed)));
}
