#include "measure/accuracy/time_to_accuracy.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "space/random.hpp"
#include "tests/support/normal.hpp"

using namespace nocturne;
using namespace nocturne::measure;
using Catch::Approx;

namespace {

constexpr double kPoints = 4;

/// Trainings that cross the target at X epochs, ln X ~ N(mean, scatter²), and are looked at every quarter.
struct Truth {
  double mean = 0, scatter = 0.2;
  [[nodiscard]] double draw(space::Random& random) const { return std::exp(mean + scatter * test::normal(random)); }
  [[nodiscard]] static double seen(double crossing) { return std::ceil(crossing * kPoints) / kPoints; }
  /// Mean epochs of a training, by summing over its evaluations.
  [[nodiscard]] double expected() const {
    double sum = 0;
    for (int point = 0; point < 4000; ++point)
      sum += 0.5 * std::erfc((std::log(std::max(point / kPoints, 1e-9)) - mean) / scatter / std::numbers::sqrt2);
    return sum / kPoints;
  }
};

Crossing crossing(double at, double end) {
  const double seen = Truth::seen(at);
  if (seen > end) return {.below = end, .reached = {}};
  return {.below = seen - 1 / kPoints, .reached = seen};
}

space::Run run_with(const std::vector<std::pair<std::int64_t, double>>& points) {
  space::Run run;
  for (const auto& [steps, accuracy] : points)
    run.curve.push_back({.steps = steps, .test = {.accuracy = accuracy, .loss = 0.1, .examples = 100}});
  return run;
}

/// How often the intervals hold the truth, where so many curves of at most `end` epochs are drawn.
struct Held {
  double mean = 0, next = 0;
};
Held held(int curves, double end) {
  space::Random random(7, static_cast<std::uint64_t>(curves));
  constexpr int kTruths = 400;
  Held held;
  for (int i = 0; i < kTruths; ++i) {
    const Truth truth{.mean = std::log(1 + 5 * random.unit()), .scatter = 0.1 + 0.25 * random.unit()};
    std::vector<Crossing> seen;
    for (int curve = 0; curve < curves; ++curve) seen.push_back(crossing(truth.draw(random), end));
    const EpochsToTarget epochs = epochs_to_target(seen, kPoints);
    held.mean += epochs.low <= truth.expected() && truth.expected() <= epochs.high;
    const double next = Truth::seen(truth.draw(random));
    held.next += epochs.next_low <= next && next <= epochs.next_high;
  }
  return {.mean = held.mean / kTruths, .next = held.next / kTruths};
}

}  // namespace

TEST_CASE("a curve crosses at its first evaluation at the target, or is censored where it ends", "[accuracy]") {
  const auto run = run_with({{25, 0.90}, {50, 0.97}, {75, 0.95}, {100, 0.98}});
  CHECK(crossing_of(run, 0.97, 100) == Crossing{.below = 0.25, .reached = 0.5});
  CHECK(crossing_of(run, 0.975, 100) == Crossing{.below = 0.75, .reached = 1.0});
  CHECK(crossing_of(run, 0.99, 100) == Crossing{.below = 1.0, .reached = {}});
  CHECK(crossing_of(run, 0.5, 100) == Crossing{.below = 0, .reached = 0.25});
  CHECK_FALSE(crossing_of(run_with({}), 0.5, 100));
}

TEST_CASE("the 90 % intervals of drawn curves hold the truth in 85 to 95 of 100", "[accuracy]") {
  for (const int curves : {1, 2, 3, 6}) {
    CAPTURE(curves);
    const Held all = held(curves, 60);
    CAPTURE(all.mean, all.next);
    CHECK(all.mean >= 0.85);
    CHECK(all.mean <= 0.95);
    CHECK(all.next >= 0.87);  // of evaluations, which are discrete: rather more than 90 %
  }
}

TEST_CASE("curves that end before the target are censored, not dropped", "[accuracy]") {
  const Held half = held(3, 3.5);
  CAPTURE(half.mean, half.next);
  CHECK(half.mean >= 0.82);
  CHECK(half.next >= 0.85);
  const std::vector<Crossing> two = {{.below = 1.75, .reached = 2.0}, {.below = 1.75, .reached = 2.0}};
  std::vector<Crossing> three = two;
  three.push_back({.below = 4, .reached = {}});
  const auto without = epochs_to_target(two, kPoints), with = epochs_to_target(three, kPoints);
  CHECK(with.mean > 1.2 * without.mean);
  CHECK(with.next_high > without.next_high);
  CHECK(with.reached == 2);
  CHECK(with.censored == 1);
  // Only an end: at least that, and who knows how much more.
  const std::vector<Crossing> ended = {{.below = 8, .reached = {}}};
  const auto at_least = epochs_to_target(ended, kPoints);
  CHECK(at_least.low > 7);
  CHECK(at_least.high > 15);
}

TEST_CASE("more curves narrow the interval, and equal ones agree with their mean", "[accuracy]") {
  const Crossing two{.below = 1.75, .reached = 2.0};
  double before = 1e9;
  for (const std::size_t curves : {1UL, 2UL, 4UL, 8UL}) {
    const std::vector<Crossing> equal(curves, two);
    const auto epochs = epochs_to_target(equal, kPoints);
    CHECK(epochs.high - epochs.low < before);
    before = epochs.high - epochs.low;
    CHECK(epochs.mean == Approx(2.0).margin(0.12));
  }
}

TEST_CASE("the time to accuracy is start-up and epochs, its interval that of both", "[accuracy]") {
  const EpochsToTarget epochs{.mean = 2, .low = 1.8, .high = 2.3, .log_sd = 0.07, .next_low = 1.5, .next_high = 2.75};
  const auto exact = time_to_accuracy({.startup = 3, .epoch = 10, .log_sd = 0}, epochs);
  CHECK(exact.seconds == Approx(23));
  CHECK(exact.low == Approx(21));
  CHECK(exact.high == Approx(26));
  CHECK(exact.next_low == Approx(18));
  CHECK(exact.next_high == Approx(30.5));
  const auto noisy = time_to_accuracy({.startup = 3, .epoch = 10, .log_sd = 0.1}, epochs);
  CHECK(noisy.seconds == Approx(23));
  CHECK(std::log(noisy.high / 23) == Approx(std::hypot(std::log(26.0 / 23), 0.16449)).epsilon(1e-3));
  CHECK(std::log(23 / noisy.low) == Approx(std::hypot(std::log(23.0 / 21), 0.16449)).epsilon(1e-3));
}

TEST_CASE("a run's time to accuracy is what it did until then, without its evaluations", "[accuracy]") {
  using std::chrono::seconds;
  space::Run run = run_with({{2, 0.9}, {4, 0.98}});
  run.phases = {{.name = "import", .wall = seconds(3), .cpu = {}, .finished = true},
                {.name = "first_step", .wall = seconds(2), .cpu = {}, .finished = true},
                {.name = "accuracy", .wall = seconds(50), .cpu = {}, .finished = true}};
  for (std::int64_t step = 1; step < 6; ++step)
    run.samples.push_back(
        {.first_step = step, .steps = 1, .wall = seconds(1), .cpu = {}, .data_wait = {}, .loss = 0.1});
  CHECK(seconds_to_accuracy(run, 0.98) == Approx(3 + 2 + 3));
  CHECK(seconds_to_accuracy(run, 0.9) == Approx(3 + 2 + 1));
  CHECK_FALSE(seconds_to_accuracy(run, 0.99));
}
