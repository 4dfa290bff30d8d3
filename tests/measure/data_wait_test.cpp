#include "measure/comparison/data_wait.hpp"

#include <array>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstdint>

namespace nocturne::measure {
namespace {

using std::chrono::milliseconds;

space::Run waiting_run(milliseconds first_wait, milliseconds later_wait) {
  space::Run run;
  run.outcome = space::Outcome::Ok;
  for (std::int64_t i = 0; i < 20; ++i) {
    const bool warm = i >= 2;
    run.samples.push_back({.first_step = 1 + 2 * i,
                           .steps = 2,
                           .wall = milliseconds(warm ? 100 : 900),
                           .cpu = {},
                           .data_wait = warm ? later_wait : first_wait,
                           .loss = {}});
  }
  return run;
}

}  // namespace

TEST_CASE("waiting for data is told per step, behind the warm-up", "[statistics]") {
  const auto wait = data_wait(waiting_run(milliseconds(800), milliseconds(30)));
  REQUIRE(wait);
  CHECK(wait->step_seconds == Catch::Approx(0.015));
  CHECK(wait->share == Catch::Approx(0.3));
}

TEST_CASE("a reader that is late once in ten steps is not overlooked", "[statistics]") {
  space::Run run = waiting_run(milliseconds(0), milliseconds(0));
  run.samples[9].data_wait = run.samples[19].data_wait = milliseconds(90);
  const auto wait = data_wait(run);
  REQUIRE(wait);
  CHECK(wait->share == Catch::Approx(2 * 90.0 / (18 * 100)));
}

TEST_CASE("a trial waits as its runs do in the mean, and without samples nothing is known", "[statistics]") {
  CHECK_FALSE(data_wait(space::Run{}));
  const std::array runs = {waiting_run({}, milliseconds(10)), space::Run{}, waiting_run({}, milliseconds(30))};
  const auto wait = data_wait(runs);
  REQUIRE(wait);
  CHECK(wait->step_seconds == Catch::Approx(0.01));
  CHECK(wait->share == Catch::Approx(0.2));
  CHECK_FALSE(data_wait(std::span(runs).subspan(1, 1)));
}

TEST_CASE("waiting is a part of T(N) that grows with the epochs", "[statistics]") {
  const space::Parts parts{.import = 5, .data = 7, .steps_per_epoch = 50, .steady_step = 0.1};
  CHECK(data_wait_seconds({.step_seconds = 0.02, .share = 0.2}, parts, 12) == Catch::Approx(12.0));
}

}  // namespace nocturne::measure
