#include "measure/comparison/neighbours.hpp"

#include <cmath>
#include <random>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

namespace nocturne::measure {
namespace {

/// Neighbours that cost `effect` in truth, on a machine whose times scatter by `sd`, measured until it is decided.
NeighbourTest::Verdict measured(double effect, double sd, std::mt19937_64& random) {
  std::normal_distribution<double> noise(0, sd * std::sqrt(2.0));  // of two times
  NeighbourTest test;
  while (!test.verdict().decided) test.tell(effect + noise(random));
  return test.verdict();
}

int shared_of_a_thousand(double effect, double sd) {
  std::mt19937_64 random(7);
  int shared = 0;
  for (int i = 0; i < 1000; ++i)
    if (measured(effect, sd, random).shared) ++shared;
  return shared;
}

}  // namespace

TEST_CASE("few ratios decide nothing", "[neighbours]") {
  NeighbourTest test;
  CHECK_FALSE(test.verdict().decided);
  for (int i = 0; i < NeighbourTest::kFewestRatios; ++i) {
    CHECK_FALSE(test.verdict().decided);
    CHECK_FALSE(test.verdict().shared);
    test.tell(0);
  }
  CHECK(test.verdict().decided);
  CHECK(test.verdict().shared);
}

TEST_CASE("the interval of neighbours' cost is Student's", "[neighbours]") {
  NeighbourTest test;
  for (const double ratio : {0.10, 0.12, 0.14, 0.16}) test.tell(ratio);
  const auto verdict = test.verdict();
  CHECK(verdict.mean == Catch::Approx(0.13));
  // t of 3 degrees of freedom at 99 % is 4.5407; the standard error is 0.01291.
  CHECK(verdict.low == Catch::Approx(0.13 - 4.5407 * 0.012910).epsilon(1e-3));
  CHECK(verdict.high == Catch::Approx(0.13 + 4.5407 * 0.012910).epsilon(1e-3));
  CHECK(verdict.decided);
  CHECK_FALSE(verdict.shared);
}

TEST_CASE("what is not shown to be little is not shared", "[neighbours]") {
  NeighbourTest test;
  for (int i = 0; i < NeighbourTest::kMostRatios; ++i) {
    CHECK_FALSE(test.verdict().decided);
    test.tell(i % 2 == 0 ? 0.2 : -0.2);
  }
  CHECK(test.verdict().decided);
  CHECK_FALSE(test.verdict().shared);
}

TEST_CASE("neighbours that cost nothing are shared, those that cost much are not", "[neighbours]") {
  for (const double sd : {0.005, 0.01, 0.02}) {
    CAPTURE(sd);
    CHECK(shared_of_a_thousand(0, sd) > 900);
    CHECK(shared_of_a_thousand(0.06, sd) < 10);
  }
  // At the limit itself, with one look after the other.
  CHECK(shared_of_a_thousand(kMostDisturbance, 0.01) < 100);
}

}  // namespace nocturne::measure
