#include "tuner/campaign/finals/finalists.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <optional>
#include <vector>

#include "measure/comparison/comparison.hpp"
#include "tests/tuner/campaign/simulated_finals.hpp"
#include "tuner/campaign/answer/default_settings.hpp"

namespace nocturne::test {
namespace {

using tuner::Belief;
using tuner::Finalist;

/// Trials that ended well and differ from the default, trial 0, in one setting.
std::vector<db::StoredTrial> trials_of(const std::vector<double>& values) {
  std::vector<db::StoredTrial> trials;
  for (const double value : values) {
    db::StoredTrial& trial = trials.emplace_back();
    trial.trial.number = std::ssize(trials) - 1;
    trial.id = trial.trial.number + 1;
    trial.trial.outcome = space::Outcome::Ok;
    trial.trial.configuration.set("threads", space::Value(trial.trial.number));
    trial.trial.estimate = space::Estimate{.value = value, .standard_error = 0.001 * value, .runs = 1};
    trial.trial.parts = space::Parts{.steady_step = value};
  }
  return trials;
}

std::vector<std::size_t> places(const std::vector<Finalist>& finalists) {
  std::vector<std::size_t> result;
  for (const Finalist& each : finalists) result.push_back(each.trial);
  return result;
}

template <typename Noise>
SimulatedVerdict play(std::uint64_t seed, SimulatedCampaign campaign) {
  Noise noise(seed);
  campaign.seed = seed;
  return play_campaign(campaign, noise);
}

/// Finalists with these changes, whose race is over with these gains: each is as good as known.
std::size_t winner_with(const std::vector<double>& gains, const std::vector<std::size_t>& changes, double margin) {
  std::vector<Finalist> finalists;
  for (std::size_t i = 0; i < gains.size(); ++i)
    finalists.push_back({.trial = i, .belief = {.log_time = -gains[i], .error = 1e-6}, .changes = changes[i]});
  return tuner::winner_of(tuner::race_between(finalists, margin, 0, 1), finalists, margin);
}

}  // namespace

TEST_CASE("finalists are the trials that may be the fastest by belief, the fastest first", "[finalists]") {
  const auto trials = trials_of({2.0, 1.3, 1.2, 1.1, 1.0});
  // Trial 4 measured the smallest time, and all trials together say that trial 2 is faster.
  const std::vector<std::optional<Belief>> beliefs = {Belief{0.5, 0.02}, Belief{0.30, 0.02}, Belief{0.10, 0.02},
                                                      Belief{0.14, 0.02}, Belief{0.20, 0.02}};
  CHECK(places(tuner::choose_finalists(trials, beliefs, 9)) == std::vector<std::size_t>{2, 3, 4, 0});
  CHECK(places(tuner::choose_finalists(trials, beliefs, 3)) == std::vector<std::size_t>{2, 4, 0});
  CHECK(places(tuner::choose_finalists(trials, beliefs, 1)) == std::vector<std::size_t>{2});
  auto sure = beliefs;
  sure[2]->error = sure[3]->error = 0.001;
  CHECK(places(tuner::choose_finalists(trials, sure, 9)) == std::vector<std::size_t>{2, 4, 0});
}

TEST_CASE("where one is the fastest beyond doubt there is no race, not even with the default", "[finalists]") {
  const auto trials = trials_of({2.0, 1.0});
  CHECK(places(tuner::choose_finalists(trials, std::vector<std::optional<Belief>>{Belief{0.7, 0.01}, Belief{0, 0.01}},
                                       9)) == std::vector<std::size_t>{1});
}

TEST_CASE("what failed is no finalist, and a configuration is one only once", "[finalists]") {
  auto trials = trials_of({1.0, 1.1, 1.11});
  const std::vector<std::optional<Belief>> beliefs = {std::nullopt, Belief{0.1, 0.05}, Belief{0.11, 0.05}};
  CHECK(places(tuner::choose_finalists(trials, beliefs, 9)) == std::vector<std::size_t>{1, 2});
  trials[2].trial.configuration = trials[1].trial.configuration;
  CHECK(places(tuner::choose_finalists(trials, beliefs, 9)) == std::vector<std::size_t>{1});
  CHECK(tuner::choose_finalists({}, {}, 9).empty());
}

TEST_CASE("two estimates are within noise where chance often parts them as far", "[finalists]") {
  const space::Estimate ten{.value = 10, .standard_error = 0.01, .runs = 1};
  const space::Estimate eleven{.value = 11, .standard_error = 0.01, .runs = 1};
  CHECK(tuner::within_noise(ten, eleven));  // processes differ by 5 %, so two of them by 14 now and then
  CHECK(tuner::within_noise(eleven, ten));
  CHECK_FALSE(tuner::within_noise(ten, {.value = 13, .standard_error = 0.01, .runs = 1}));
  CHECK(tuner::within_noise(ten, {.value = 13, .standard_error = 2, .runs = 1}));
  CHECK_FALSE(tuner::within_noise(ten, eleven, 0.01));  // a quiet machine, whose noise is known
  CHECK_FALSE(tuner::within_noise({.value = 10, .standard_error = 0, .runs = 9},
                                  {.value = 11, .standard_error = 0, .runs = 9}));
}

TEST_CASE("among those within the margin the simplest wins, and the default only as the fastest", "[finalists]") {
  CHECK(winner_with({0.100, 0.095, 0.050}, {4, 2, 1}, 1) == 1);
  CHECK(winner_with({0.100, 0.095, 0.050}, {4, 2, 1}, 0.1) == 0);
  CHECK(winner_with({0.100, 0.095, 0.096}, {4, 2, 2}, 1) == 2);  // of two as simple ones the faster
  CHECK(winner_with({0.004, 0.0}, {3, 0}, 1) == 0);
  CHECK(winner_with({0.0, 0.004}, {3, 0}, 1) == 1);
}

TEST_CASE("changes are counted over parameters that are active on one side alone, too", "[finalists]") {
  space::Configuration a, b;
  a.set("threads", space::Value(std::int64_t{2}));
  a.set("xla", space::Value(true));
  b.set("threads", space::Value(std::int64_t{4}));
  b.set("layout", space::Value("plain"));
  CHECK(tuner::changes_between(a, b).size() == 3);
  CHECK(tuner::changes_between(a, a).empty());
}

TEST_CASE("of a thousand campaigns of equal configurations at most one in twenty finds a winner",
          "[finalists][thorough]") {
  for (const bool recorded : {false, true}) {
    int faster = 0, slower = 0;
    for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
      const SimulatedVerdict simulated = recorded ? play<RecordedNoise>(seed, {}) : play<FormulaNoise>(seed, {});
      faster += simulated.verdict == measure::Verdict::Faster ? 1 : 0;
      slower += simulated.verdict == measure::Verdict::Slower ? 1 : 0;
    }
    INFO((recorded ? "recorded noise: " : "by the formula: ") << faster << " faster, " << slower << " slower");
    CHECK(faster + slower <= 50);
  }
}

TEST_CASE("the gain that is reported is the true one on average, and large ones are found", "[finalists][thorough]") {
  for (const double truth : {0.02, 0.05, 0.10}) {
    double sum = 0;
    int faster = 0, reports = 0, covered = 0;
    for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
      const SimulatedVerdict simulated = play<RecordedNoise>(seed, {.planted = truth, .others = truth});
      if (simulated.truth == 0) continue;  // the default looked best
      ++reports;
      sum += simulated.reported - truth;
      covered += simulated.low <= truth && truth <= simulated.high ? 1 : 0;
      faster += simulated.verdict == measure::Verdict::Faster ? 1 : 0;
    }
    INFO("true gain " << truth << ", found in " << faster << " of " << reports << ", held " << covered << " times");
    CHECK(reports > 900);
    CHECK(std::abs(sum / reports) < 0.005);
    CHECK(covered > 0.95 * reports);
    if (truth >= 0.05) CHECK(faster > 0.9 * reports);
  }
}

TEST_CASE("a campaign finds five per cent in most cases, and nothing where there is nothing", "[finalists]") {
  for (const bool structured : {false, true}) {
    int found = 0, false_alarms = 0;
    std::size_t processes = 0;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
      const SimulatedVerdict planted = play<RecordedNoise>(seed, {.planted = 0.05, .structured = structured});
      found += planted.verdict == measure::Verdict::Faster && planted.truth > 0 ? 1 : 0;
      processes += planted.processes;
      const measure::Verdict nothing = play<RecordedNoise>(seed, {.structured = structured}).verdict;
      false_alarms += nothing == measure::Verdict::Faster || nothing == measure::Verdict::Slower ? 1 : 0;
    }
    INFO("found " << found << " of 200, false alarms " << false_alarms << ", processes " << processes / 200);
    CHECK(found > 170);
    CHECK(false_alarms <= 15);
    CHECK(processes < 150 * 200);
  }
}

// What is usually done, and what this house is built against: the smallest of many single times flatters itself.
TEST_CASE("the smallest of single times shows a gain where there is none", "[finalists]") {
  double sum = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    RecordedNoise noise(seed);
    sum += play_repetition({}, 1, noise).reported;
  }
  CHECK(sum / 200 > 0.1);
}

}  // namespace nocturne::test
