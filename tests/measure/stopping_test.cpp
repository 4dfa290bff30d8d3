#include "measure/comparison/stopping.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <optional>
#include <random>
#include <vector>

namespace nocturne::measure {

using space::Estimate;
using space::Outcome;

namespace {

/// A machine on which processes have between-process spread.
struct NoisyMachine {
  std::mt19937_64 random{5};
  double process_sd = 0.05;

  /// The estimate of a trial of `truth` seconds after one run more.
  Estimate another(const std::optional<Estimate>& before, double truth) {
    std::normal_distribution<double> normal(0, process_sd);
    const int runs = before ? before->runs : 0;
    const double sum = before ? before->value * runs : 0;
    return {.value = (sum + truth * std::exp(normal(random))) / (runs + 1), .standard_error = 0, .runs = runs + 1};
  }
  /// All the runs that the rule gives it.
  Estimate trial(double truth, const std::optional<Estimate>& incumbent, int repeats = 3) {
    std::optional<Estimate> estimate;
    while (needs_another_run(Outcome::Ok, estimate, incumbent, {.repeats = repeats, .process_sd = process_sd})
               .another_run) {
      estimate = another(estimate, truth);
    }
    return *estimate;
  }
};

}  // namespace

TEST_CASE("a promising trial gets all its runs and no more", "[stopping]") {
  const Estimate incumbent{.value = 100, .standard_error = 1, .runs = 3};
  for (int runs = 1; runs < 3; ++runs)
    CHECK(needs_another_run(Outcome::Ok, Estimate{99, 1, runs}, incumbent).another_run);
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

TEST_CASE("one run says nothing of the between-process spread between processes", "[stopping]") {
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

TEST_CASE("what is as fast as the incumbent is given up in at most one case of twenty", "[stopping]") {
  for (const int repeats : {2, 3, 5}) {
    NoisyMachine machine;
    int given_up = 0;
    for (int i = 0; i < 4000; ++i) {
      const Estimate incumbent = machine.trial(100, std::nullopt, repeats);
      given_up += machine.trial(100, incumbent, repeats).runs < repeats ? 1 : 0;
    }
    CAPTURE(repeats, given_up);
    CHECK(given_up <= 4000 * 0.05);
    CHECK(given_up > 0);  // a rule that never gives up keeps any promise
  }
}

TEST_CASE("one run for the hopeless, all of them for a contender", "[stopping]") {
  NoisyMachine machine;
  int one_run = 0, all_runs = 0;
  for (int i = 0; i < 1000; ++i) {
    const Estimate incumbent = machine.trial(100, std::nullopt);
    one_run += machine.trial(140, incumbent).runs == 1 ? 1 : 0;
    all_runs += machine.trial(96, incumbent).runs == 3 ? 1 : 0;
  }
  CHECK(one_run >= 980);
  CHECK(all_runs >= 990);
}

TEST_CASE("a planted best of 2, 5 and 10 per cent stays in the race, for fewer runs than a fixed number",
          "[stopping]") {
  constexpr int kCampaigns = 300;
  constexpr int kTrials = 30;
  for (const double gain : {0.02, 0.05, 0.10}) {
    NoisyMachine machine;
    int kept = 0, runs = 0;
    for (int campaign = 0; campaign < kCampaigns; ++campaign) {
      // The default and others up to 60 % slower than it, one of them planted.
      std::vector<double> truths = {100};
      std::uniform_real_distribution<double> slower(100, 160);
      while (std::ssize(truths) < kTrials) truths.push_back(slower(machine.random));
      const auto planted = static_cast<std::size_t>(std::uniform_int_distribution<int>(1, kTrials - 1)(machine.random));
      truths[planted] = 100 * (1 - gain);
      std::optional<Estimate> best;
      Estimate of_planted;
      for (std::size_t i = 0; i < truths.size(); ++i) {
        const Estimate estimate = machine.trial(truths[i], best);
        runs += estimate.runs;
        if (i == planted) of_planted = estimate;
        if (!best || estimate.value < best->value) best = estimate;
      }
      // As finalists are chosen: within two standard errors of the smallest.
      const double scatter = machine.process_sd * std::sqrt(1.0 / of_planted.runs + 1.0 / best->runs);
      kept += std::log(of_planted.value / best->value) <= 2 * scatter ? 1 : 0;
    }
    CAPTURE(gain, kept, runs);
    CHECK(kept >= 0.95 * kCampaigns);
    CHECK(runs < 0.6 * 3 * kTrials * kCampaigns);
  }
}

TEST_CASE("one run far from what was expected is surprising, and two that agree are not", "[stopping]") {
  const double expected = std::log(100.0);
  CHECK_FALSE(is_surprising(Estimate{.value = 120, .runs = 1}, expected, 0.05));
  CHECK(is_surprising(Estimate{.value = 125, .runs = 1}, expected, 0.05));
  CHECK(is_surprising(Estimate{.value = 78, .runs = 1}, expected, 0.05));
  CHECK_FALSE(is_surprising(Estimate{.value = 78, .runs = 2}, expected, 0.05));
  CHECK_FALSE(is_surprising(Estimate{.value = 78, .runs = 1}, expected, 0.1));
}

}  // namespace nocturne::measure
