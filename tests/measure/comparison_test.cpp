#include "measure/comparison/comparison.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cmath>
#include <limits>
#include <random>

namespace nocturne::measure {
namespace {

using Catch::Approx;
using namespace std::chrono_literals;

std::chrono::nanoseconds seconds(double value) {
  return std::chrono::nanoseconds(std::llround(value * 1e9));
}

/// A run whose samples are the slices given, four steps each.
space::Run run_of(const std::vector<double>& slices, double compile = 0) {
  space::Run run;
  run.outcome = space::Outcome::Ok;
  run.phases = {{.name = "compile", .wall = seconds(compile), .cpu = {}, .finished = true}};
  for (const double slice : slices) run.samples.push_back({.steps = 4, .wall = seconds(4 * slice)});
  return run;
}

}  // namespace

TEST_CASE("the interval of few pairs is Student's t over them", "[comparison]") {
  // Mean 0.2, sd 0.1, n = 4: half width = 3.18245 · 0.1 / 2.
  const double a = 0.1 * std::sqrt(3.0) / 2;
  const Comparison result = compare(std::vector{0.2 - a, 0.2 + a, 0.2 - a, 0.2 + a});
  CHECK(result.pairs == 4);
  CHECK(result.log_ratio == Approx(0.2));
  CHECK(result.standard_error == Approx(0.05));
  CHECK(result.gain_percent == Approx(100 * (std::exp(0.2) - 1)));
  CHECK(result.low_percent == Approx(100 * (std::exp(0.2 - 3.18245 * 0.05) - 1)).epsilon(1e-4));
  CHECK(result.high_percent == Approx(100 * (std::exp(0.2 + 3.18245 * 0.05) - 1)).epsilon(1e-4));
  CHECK(result.verdict == Verdict::Faster);
}

TEST_CASE("from eight pairs on signed ranks judge, as far as so few can be that sure", "[comparison]") {
  // One wild pair of eight: it moves the mean to 1.05, and hardly the middle.
  const std::vector<double> ratios = {0.05, 0.051, 0.049, 0.052, 0.048, 0.05, 0.05, 8.0};
  const Comparison ranked = compare(ratios);
  CHECK(ranked.log_ratio == Approx(0.0505).margin(0.001));
  CHECK(ranked.verdict == Verdict::Faster);
  const Comparison seven = compare(std::span(ratios).last(7));
  CHECK(seven.log_ratio > 1);
  CHECK(seven.verdict == Verdict::Undecided);
  // Eight signs can all be one by chance in 1 of 128 cases: 99.5 % is beyond them.
  CHECK(compare(ratios, {.confidence = 0.995}).log_ratio > 1);
}

TEST_CASE("with heavy tails the interval holds the truth about as often, and is shorter than a mean's",
          "[comparison]") {
  std::mt19937 generator(5);
  std::student_t_distribution<double> noise(4);
  constexpr int kExperiments = 4000, kPairs = 20;
  int covered = 0;
  double width = 0, width_of_mean = 0;
  for (int i = 0; i < kExperiments; ++i) {
    std::vector<double> ratios(kPairs);
    double sum = 0, squares = 0;
    for (double& ratio : ratios) {
      ratio = 0.05 + 0.02 * noise(generator);
      sum += ratio;
      squares += ratio * ratio;
    }
    const Comparison result = compare(ratios);
    const double low = std::log1p(result.low_percent / 100), high = std::log1p(result.high_percent / 100);
    covered += low <= 0.05 && 0.05 <= high;
    width += high - low;
    width_of_mean += 2 * 2.093 * std::sqrt((squares - sum * sum / kPairs) / (kPairs - 1) / kPairs);
  }
  CHECK(covered > 0.94 * kExperiments);
  CHECK(covered < 0.965 * kExperiments);
  CHECK(width < 0.93 * width_of_mean);
}

TEST_CASE("the verdict follows the interval", "[comparison]") {
  CHECK(compare(std::vector{0.30, 0.31, 0.29}).verdict == Verdict::Faster);
  CHECK(compare(std::vector{-0.30, -0.31, -0.29}).verdict == Verdict::Slower);
  CHECK(compare(std::vector{0.001, -0.001, 0.0005, 0.0}).verdict == Verdict::Same);
  CHECK(compare(std::vector{0.30, -0.31, 0.1}).verdict == Verdict::Undecided);
  // Certainly faster, but by less than anybody cares for.
  CHECK(compare(std::vector{0.004, 0.0041, 0.0039, 0.004}).verdict == Verdict::Same);
  CHECK(compare(std::vector{0.004, 0.0041, 0.0039, 0.004}, {.margin_percent = 0.1}).verdict == Verdict::Faster);
}

TEST_CASE("one pair or none decides nothing", "[comparison]") {
  const Comparison one = compare(std::vector{0.5});
  CHECK(one.verdict == Verdict::Undecided);
  CHECK(one.gain_percent == Approx(100 * (std::exp(0.5) - 1)));
  CHECK(one.low_percent == -100);
  CHECK(one.high_percent == std::numeric_limits<double>::infinity());
  CHECK(compare({}).verdict == Verdict::Undecided);
}

TEST_CASE("the interval covers the truth about as often as it says", "[comparison]") {
  std::mt19937 generator(2);
  std::normal_distribution<double> noise(0.05, 0.03);
  int covered = 0;
  constexpr int kExperiments = 4000;
  for (int i = 0; i < kExperiments; ++i) {
    std::vector<double> ratios(6);
    for (double& ratio : ratios) ratio = noise(generator);
    const Comparison result = compare(ratios);
    const double truth = 100 * std::expm1(0.05);
    covered += result.low_percent <= truth && truth <= result.high_percent;
  }
  CHECK(covered > 0.94 * kExperiments);
  CHECK(covered < 0.96 * kExperiments);
}

TEST_CASE("equal configurations are rarely called faster or slower", "[comparison]") {
  std::mt19937 generator(3);
  std::normal_distribution<double> noise(0, 0.03);
  int wrong = 0;
  constexpr int kExperiments = 4000;
  for (int i = 0; i < kExperiments; ++i) {
    std::vector<double> ratios(8);
    for (double& ratio : ratios) ratio = noise(generator);
    const Verdict verdict = compare(ratios).verdict;
    wrong += verdict == Verdict::Faster || verdict == Verdict::Slower;
  }
  CHECK(wrong < 0.06 * kExperiments);
  CHECK(wrong > 0.03 * kExperiments);
}

TEST_CASE("a pair's log ratio at a horizon is that of the composed times", "[comparison]") {
  const std::vector<double> slow(10, 0.100), fast(10, 0.050);
  const space::Run a = run_of(slow), b = run_of(fast, 100);           // the candidate compiles for 100 s
  const Schedule schedule{.training_examples = 12800, .batch = 128};  // 100 steps
  const auto pair = pair_parts({a, schedule, slow}, {b, schedule, fast});
  REQUIRE(pair);
  CHECK(log_ratio(*pair, 1) == Approx(std::log(10.0 / 105.0)));
  CHECK(log_ratio(*pair, 90) == Approx(std::log(900.0 / 550.0)));
}

TEST_CASE("what stands between the epochs of one side alone is not held against it", "[comparison]") {
  space::Run a = run_of({0.1, 0.1, 0.1}), b = run_of({0.1, 0.1, 0.1});
  const Schedule schedule{.training_examples = 1000, .batch = 100};
  const std::vector<double> slices(3, 0.1);
  const auto ratio = [&] { return log_ratio(*pair_parts({a, schedule, slices}, {b, schedule, slices}), 3); };
  const auto end = [](double wall) {
    return space::Phase{.name = std::string(kEpochEnd), .wall = seconds(wall), .cpu = {}, .finished = true};
  };
  for (const double wall : {7.0, 1.0}) b.phases.push_back(end(wall));
  CHECK(ratio() == Approx(0).margin(1e-12));
  for (const double wall : {1.0, 1.0}) a.phases.push_back(end(wall));
  CHECK(ratio() == Approx(std::log(6.0 / 12)));
}

TEST_CASE("different batch sizes compare per epoch, not per step", "[comparison]") {
  const std::vector<double> small(10, 0.030), large(10, 0.050);
  const auto pair = pair_parts({run_of(small), {.training_examples = 6400, .batch = 32}, small},
                               {run_of(large), {.training_examples = 6400, .batch = 64}, large});
  REQUIRE(pair);
  CHECK(log_ratio(*pair, 1) == Approx(std::log(200 * 0.030 / (100 * 0.050))));
}

TEST_CASE("a drift that both sides share cancels", "[comparison]") {
  // The machine slows down by half while the pair runs; one side was also measured for longer, on the slow part.
  std::vector<double> a, b;
  for (int i = 0; i < 20; ++i) {
    const double machine = 1 + 0.025 * i;
    a.push_back(0.050 * 1.1 * machine);
    if (i < 14) b.push_back(0.050 * machine);
  }
  const Schedule schedule{.training_examples = 1280000, .batch = 128};
  const auto pair = pair_parts({run_of(a), schedule, a}, {run_of(b), schedule, b});
  REQUIRE(pair);
  CHECK(log_ratio(*pair, 1) == Approx(std::log(1.1)).epsilon(0.01));
}

TEST_CASE("slices are grouped by side, in order", "[comparison]") {
  const space::Sample two{.steps = 2, .wall = 100ms}, one{.steps = 1, .wall = 80ms};
  const std::vector<Slice> slices = {{Side::A, {two, one}}, {Side::B, {one}}, {Side::B, {two}}, {Side::A, {one}}};
  const std::vector<double> a = slice_seconds(slices, Side::A), b = slice_seconds(slices, Side::B);
  REQUIRE(a.size() == 2);
  CHECK(a[0] == Approx(0.06));
  CHECK(a[1] == Approx(0.08));
  REQUIRE(b.size() == 2);
  CHECK(b[0] == Approx(0.08));
  CHECK(b[1] == Approx(0.05));
}

TEST_CASE("an incomplete pair is refused with the culprit's words", "[comparison]") {
  PairResult pair;
  pair.runs[0].outcome = space::Outcome::Ok;
  pair.runs[1].outcome = space::Outcome::Crashed;
  pair.runs[1].reason = "signal 11";
  const auto ratios = log_ratios(pair, Schedule{}, Schedule{}, std::vector{1.0});
  REQUIRE_FALSE(ratios);
  CHECK(ratios.error() == "the pair is incomplete: one side ended as crashed (signal 11)");
}

TEST_CASE("a pair with too few common slices is refused", "[comparison]") {
  const std::vector<double> steps(10, 0.05), few(1, 0.05);
  CHECK_FALSE(pair_parts({run_of(steps), {}, steps}, {run_of(steps), {}, few}));
}

}  // namespace nocturne::measure
