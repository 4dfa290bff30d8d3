#include "tuner/campaign/noise/noise_floor.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <thread>
#include <vector>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/support/temporary_folder.hpp"
#include "tests/tuner/campaign/fake_executor.hpp"

namespace nocturne::test {
namespace {

using Catch::Approx;
using Catch::Matchers::ContainsSubstring;

tuner::CampaignSpec one_thread() {
  auto spec = tuner::parse_campaign(R"({
    "campaign": "test", "workload": {"network": "mnist_cnn", "data": "mnist", "optimizer": "adadelta"},
    "space": {"parameters": [{"name": "threads", "stage": "run", "range": [1, 4], "default": 1}]},
    "verify": {"pairs": 4, "slices": 6, "slice_steps": 2}})",
                                    "test.json", "/", space::Facts());
  if (!spec) FAIL(tuner::to_text(spec.error()));
  return std::move(*spec);
}

const tuner::NoiseRow& row_of(const tuner::NoiseFloor& floor, measure::PairMethod method,
                              tuner::StepEstimator estimator) {
  const auto found = std::ranges::find_if(
      floor.rows, [&](const auto& row) { return row.method == method && row.estimator == estimator; });
  if (found == floor.rows.end()) FAIL("no such row");
  return *found;
}

}  // namespace

TEST_CASE("each way of measuring has the noise of its own pairs", "[noise_floor]") {
  const auto spec = one_thread();
  FakeExecutor executor;
  tuner::SystemClock clock;
  tuner::Interruption interruption;
  // Processes measured alone: +0, +4 %, +0, −4 %, +0, +4 %: ratios −4, +4, −4 %. In turns: ±1 %.
  int alone = 0;
  executor.process_sd = [&](const space::Configuration&) {
    const int index = alone++;
    return index % 2 == 0 ? 1.0 : std::exp(index % 4 == 1 ? 0.04 : -0.04);
  };
  executor.pair_noise = [](std::size_t pair) { return pair % 2 == 0 ? 0.01 : -0.01; };
  int rounds = 0;
  const test::TemporaryFolder folder;
  const auto floor = tuner::measure_noise({.spec = spec,
                                           .executor = executor,
                                           .clock = clock,
                                           .interruption = interruption,
                                           .time = std::chrono::nanoseconds{0},
                                           .cpus = {0, 1},
                                           .progress = [&](int) { ++rounds; },
                                           .slot_folder = folder.path()});
  REQUIRE(floor);
  CHECK(rounds == 3);
  const double factor = std::sqrt(4.0 / 3);  // sd of −x, x, −x
  using enum measure::PairMethod;
  using enum tuner::StepEstimator;
  CHECK(row_of(*floor, Sequential, Median).noise.sd == Approx(0.04 * factor).epsilon(1e-3));
  CHECK(row_of(*floor, Sequential, Minimum).noise.pairs == 3);
  CHECK(row_of(*floor, Slices, Median).noise.sd == Approx(0.01 * factor).epsilon(1e-3));
  CHECK(row_of(*floor, Slices, Paired).noise.sd == Approx(0.01 * factor).epsilon(1e-2));
  CHECK(std::abs(row_of(*floor, Slices, Paired).noise.bias) == Approx(0.01 / 3).epsilon(1e-2));
  REQUIRE(floor->left_out.size() == 1);
  CHECK_THAT(floor->left_out.front(), ContainsSubstring("two threads or more"));
}

TEST_CASE("a duet gives each side half of the CPUs, swapped from round to round", "[noise_floor]") {
  auto spec = tuner::parse_campaign(R"({
    "campaign": "test", "workload": {"network": "mnist_cnn", "data": "mnist", "optimizer": "adadelta"},
    "space": {"parameters": [{"name": "threads", "stage": "run", "range": [1, 4], "default": 4}]},
    "verify": {"slices": 6, "slice_steps": 2}})",
                                    "test.json", "/", space::Facts());
  REQUIRE(spec);
  FakeExecutor executor;
  tuner::SystemClock clock;
  tuner::Interruption interruption;
  const test::TemporaryFolder folder;
  const auto floor = tuner::measure_noise({.spec = *spec,
                                           .executor = executor,
                                           .clock = clock,
                                           .interruption = interruption,
                                           .time = std::chrono::hours{1},
                                           .cpus = {0, 1, 2, 3},
                                           .most_rounds = 4,
                                           .slot_folder = folder.path()});
  REQUIRE(floor);
  CHECK(floor->left_out.empty());
  CHECK(row_of(*floor, measure::PairMethod::Duet, tuner::StepEstimator::Minimum).noise.pairs == 4);
  std::map<std::vector<int>, int> halves;
  for (const measure::RunPlan& plan : executor.run_plans) {
    if (plan.cpus.empty()) continue;  // one after the other
    ++halves[plan.cpus];
    CHECK(plan.request.configuration.at("threads") == 2);
  }
  CHECK(halves == std::map<std::vector<int>, int>{{{0, 1}, 4}, {{2, 3}, 4}});
}

TEST_CASE("a default that does not train has no noise, but a reason", "[noise_floor]") {
  const auto spec = one_thread();
  FakeExecutor executor;
  const test::TemporaryFolder folder;
  executor.fate = [](std::size_t, const space::Configuration&) { return space::Outcome::Crashed; };
  tuner::SystemClock clock;
  tuner::Interruption interruption;
  const tuner::NoiseWork work{.spec = spec,
                              .executor = executor,
                              .clock = clock,
                              .interruption = interruption,
                              .time = std::chrono::nanoseconds{0},
                              .cpus = {0, 1},
                              .slot_folder = folder.path()};
  CHECK_THAT(tuner::measure_noise(work).error(), ContainsSubstring("crashed: the test wanted it"));
  executor.can_be_built = [](const space::Configuration&) { return false; };
  CHECK_THAT(tuner::measure_noise(work).error(), ContainsSubstring("cannot be prepared: no such flag"));
}

TEST_CASE("a round that a suspension cut short is made again, and the slot is free meanwhile", "[noise_floor]") {
  const auto spec = one_thread();
  const test::TemporaryFolder folder;
  FakeExecutor executor;
  tuner::SystemClock clock;
  tuner::Interruption interruption;
  std::thread waker;
  bool slot_was_free = false;
  executor.fate = [&](std::size_t count, const space::Configuration&) {
    if (count != 1) return space::Outcome::Ok;
    interruption.suspend();
    waker = std::thread([&] {
      interruption.wait_until_at_rest(std::chrono::minutes(1));
      slot_was_free = measure::SlotLock::try_take({}, "other", folder.path()).has_value();
      interruption.resume();
    });
    return space::Outcome::Killed;
  };
  int rounds = 0;
  const auto floor = tuner::measure_noise({.spec = spec,
                                           .executor = executor,
                                           .clock = clock,
                                           .interruption = interruption,
                                           .time = std::chrono::nanoseconds{0},
                                           .cpus = {0, 1},
                                           .progress = [&](int) { ++rounds; },
                                           .slot_folder = folder.path()});
  waker.join();
  REQUIRE(floor);
  CHECK(slot_was_free);
  CHECK(rounds == 4);
  CHECK(row_of(*floor, measure::PairMethod::Sequential, tuner::StepEstimator::Median).noise.pairs == 3);
}

}  // namespace nocturne::test
