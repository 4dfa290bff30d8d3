#include "measure/comparison/planned_looks.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <random>
#include <vector>

#include "measure/comparison/comparison.hpp"

namespace nocturne::measure {
namespace {

using Catch::Approx;

/// Two-sided critical value of Student's t or the normal distribution, given by its confidence.
double normal_quantile_of(double confidence) {
  double low = 0, high = 8;
  while (high - low > 1e-10) {
    const double middle = (low + high) / 2;
    (std::erf(middle / std::sqrt(2.0)) < confidence ? low : high) = middle;
  }
  return low;
}

struct Errors {
  double false_alarms = 0;  ///< FASTER or SLOWER at some look, where both sides are equal
  double missed = 0;        ///< the interval at which it stopped, or the last, does not hold the truth
};

/// Comparisons of two sides whose log ratio is `truth`, pair by pair with sd 0.03, stopped at the first verdict.
Errors simulate(const std::vector<Look>& looks, double truth, int campaigns) {
  std::mt19937_64 random(11);
  std::normal_distribution<double> noise(truth, 0.03);
  Errors errors;
  for (int campaign = 0; campaign < campaigns; ++campaign) {
    std::vector<double> ratios;
    Comparison last;
    for (const Look& look : looks) {
      while (static_cast<int>(ratios.size()) < look.pairs) ratios.push_back(noise(random));
      last = compare(ratios, {.confidence = look.confidence});
      if (last.verdict != Verdict::Undecided) break;
    }
    errors.false_alarms += last.verdict == Verdict::Faster || last.verdict == Verdict::Slower;
    const double percent = 100 * std::expm1(truth);
    errors.missed += percent < last.low_percent || percent > last.high_percent;
  }
  errors.false_alarms /= campaigns;
  errors.missed /= campaigns;
  return errors;
}

}  // namespace

TEST_CASE("one look has the whole error", "[planned_looks]") {
  const auto looks = plan_looks(6, 6);
  REQUIRE(looks.size() == 1);
  CHECK(looks[0].pairs == 6);
  CHECK(looks[0].confidence == Approx(0.95).epsilon(1e-6));
}

TEST_CASE("looks begin with the first number of pairs, end with the last, and grow by a third", "[planned_looks]") {
  std::vector<int> pairs;
  for (const Look& look : plan_looks(6, 24)) pairs.push_back(look.pairs);
  CHECK(pairs == std::vector{6, 8, 11, 15, 20, 24});
  pairs.clear();
  for (const Look& look : plan_looks(6, 12)) pairs.push_back(look.pairs);
  CHECK(pairs == std::vector{6, 8, 12});  // 11 and 12 would be one and the same
  CHECK(plan_looks(2, 3).size() == 2);
}

TEST_CASE("the first look spends its share of the error", "[planned_looks]") {
  const auto looks = plan_looks(6, 24, 0.05);
  // A share of what few pairs err too often is taken off it.
  CHECK(1 - looks[0].confidence == Approx(0.05 * 6 / 24).epsilon(0.08));
  CHECK(1 - looks[0].confidence < 0.05 * 6 / 24);
}

TEST_CASE("critical values hold for a Brownian motion seen at the looks", "[planned_looks]") {
  const auto looks = plan_looks(5, 20, 0.05);
  std::vector<double> critical;
  for (const Look& look : looks) critical.push_back(normal_quantile_of(look.confidence));
  std::mt19937_64 random(3);
  std::normal_distribution<double> unit;
  constexpr int kPaths = 200'000;
  int crossed = 0;
  for (int path = 0; path < kPaths; ++path) {
    double sum = 0;
    int pairs = 0;
    for (std::size_t i = 0; i < looks.size(); ++i) {
      sum += unit(random) * std::sqrt(static_cast<double>(looks[i].pairs - pairs));
      pairs = looks[i].pairs;
      if (std::abs(sum) >= critical[i] * std::sqrt(static_cast<double>(pairs))) {
        ++crossed;
        break;
      }
    }
  }
  CHECK(static_cast<double>(crossed) / kPaths == Approx(0.05).margin(0.005));  // a little less, for Student's sake
}

TEST_CASE("equal programs are found different in at most one campaign of twenty, however often one looks",
          "[planned_looks]") {
  const Errors errors = simulate(plan_looks(6, 24), 0, 20'000);
  CHECK(errors.false_alarms < 0.052);  // standard error 0.0015
  CHECK(errors.missed < 0.052);
  // Without a plan, the usual way: the same looks, each with the confidence of a single one.
  auto careless = plan_looks(6, 24);
  for (Look& look : careless) look.confidence = 0.95;
  CHECK(simulate(careless, 0, 20'000).false_alarms > 0.09);
}

TEST_CASE("the interval at which one stopped holds the truth", "[planned_looks]") {
  for (const double truth : {0.01, 0.03, 0.08}) CHECK(simulate(plan_looks(6, 24), truth, 20'000).missed < 0.052);
}

TEST_CASE("pairs that time ended are judged as strictly as the planned looks around them", "[planned_looks]") {
  const std::vector<Look> plan = {
      {.pairs = 4, .confidence = 0.97}, {.pairs = 8, .confidence = 0.96}, {.pairs = 12, .confidence = 0.98}};
  CHECK(confidence_after(4, plan) == 0.97);
  CHECK(confidence_after(5, plan) == 0.97);
  CHECK(confidence_after(8, plan) == 0.96);
  CHECK(confidence_after(9, plan) == 0.98);  // between looks: as strict as the stricter one
  CHECK(confidence_after(30, plan) == 0.98);
}

TEST_CASE("pairs that ended before the first look are judged by their share of the error", "[planned_looks]") {
  const auto plan = plan_looks(6, 24, 0.05);
  CHECK(confidence_after(3, plan, 0.05) == plan_looks(3, 24, 0.05).front().confidence);
  CHECK(confidence_after(3, plan, 0.05) > confidence_after(6, plan, 0.05));
  CHECK(1 - confidence_after(2, plan, 0.1) > 1 - confidence_after(2, plan, 0.05));
}

}  // namespace nocturne::measure
