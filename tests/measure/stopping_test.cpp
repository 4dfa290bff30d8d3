#include "measure/comparison/stopping.hpp"

#include <catch2/catch_test_macros.hpp>

namespace nocturne::measure {

using space::Estimate;
using space::Outcome;

TEST_CASE("a promising trial gets all its runs and no more", "[stopping]") {
  const Estimate incumbent{.value = 100, .standard_error = 1, .runs = 3};
  for (int runs = 1; runs < 3; ++runs) {
    CHECK(needs_another_run(Outcome::Ok, Estimate{99, 1, runs}, incumbent).another_run);
  }
  CHECK_FALSE(needs_another_run(Outcome::Ok, Estimate{99, 1, 3}, incumbent).another_run);
  CHECK_FALSE(needs_another_run(Outcome::Ok, Estimate{99, 1, 1}, incumbent, {.repeats = 1}).another_run);
}

TEST_CASE("the first trial has nothing to lose against", "[stopping]") {
  CHECK(needs_another_run(Outcome::Ok, Estimate{100, 1, 1}, std::nullopt).another_run);
  CHECK(needs_another_run(Outcome::Ok, std::nullopt, std::nullopt).another_run);
}

TEST_CASE("a hopeless trial ends early", "[stopping]") {
  const Estimate incumbent{.value = 100, .standard_error = 1, .runs = 3};
  const Decision decision = needs_another_run(Outcome::Ok, Estimate{150, 2, 1}, incumbent);
  CHECK_FALSE(decision.another_run);
  CHECK(decision.because == "after 1 of 3 runs it is surely slower than the best (150 s against 100 s)");
}

TEST_CASE("one run says nothing of the luck between processes", "[stopping]") {
  const Estimate incumbent{.value = 100, .standard_error = 0.1, .runs = 3};
  CHECK(needs_another_run(Outcome::Ok, Estimate{110, 0.1, 1}, incumbent).another_run);
  CHECK_FALSE(needs_another_run(Outcome::Ok, Estimate{110, 0.1, 2}, incumbent).another_run);
  CHECK(needs_another_run(Outcome::Ok, Estimate{110, 4, 2}, incumbent).another_run);
}

TEST_CASE("a failure ends the trial, an interruption does not", "[stopping]") {
  CHECK_FALSE(needs_another_run(Outcome::Crashed, Estimate{100, 1, 1}, std::nullopt).another_run);
  CHECK_FALSE(needs_another_run(Outcome::Unsupported, std::nullopt, std::nullopt).another_run);
  CHECK(needs_another_run(Outcome::Killed, std::nullopt, std::nullopt).another_run);
}

}  // namespace nocturne::measure
