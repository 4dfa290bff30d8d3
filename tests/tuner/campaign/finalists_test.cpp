#include "tuner/campaign/finals/finalists.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <vector>

#include "measure/comparison/comparison.hpp"
#include "tests/tuner/campaign/simulated_finals.hpp"
#include "tuner/campaign/answer/default_settings.hpp"

namespace nocturne::test {
namespace {

using tuner::Contender;

db::StoredTrial stored(std::int64_t number, double value, int runs = 1, space::Outcome outcome = space::Outcome::Ok) {
  db::StoredTrial trial;
  trial.id = number + 1;
  trial.trial.number = number;
  trial.trial.outcome = outcome;
  trial.trial.configuration.set("threads", space::Value(number));
  if (outcome == space::Outcome::Ok) {
    trial.trial.estimate = space::Estimate{.value = value, .standard_error = 0.001 * value, .runs = runs};
    trial.trial.parts = space::Parts{.steady_step = value};
  }
  return trial;
}

template <typename Noise>
SimulatedVerdict play(std::uint64_t seed, const SimulatedCampaign& campaign) {
  Noise noise(seed);
  return play_campaign(campaign, noise);
}

}  // namespace

TEST_CASE("finalists are the trials that cannot be told from the smallest", "[finalists]") {
  // Two standard errors of a difference of single processes: 2 · 0.05 · √2 = 14 %.
  const std::vector trials = {stored(0, 2.0), stored(1, 1.0), stored(2, 1.1), stored(3, 1.2), stored(4, 1.05)};
  CHECK(tuner::choose_finalists(trials, 4) == std::vector<std::size_t>{1, 4, 2});
  CHECK(tuner::choose_finalists(trials, 2) == std::vector<std::size_t>{1, 4});
  // More processes, less between-process spread.
  const std::vector surer = {stored(1, 1.0, 9), stored(2, 1.1, 9), stored(4, 1.04, 9)};
  CHECK(tuner::choose_finalists(surer, 4) == std::vector<std::size_t>{0, 2});
}

TEST_CASE("what failed is no finalist, and a configuration is one only once", "[finalists]") {
  std::vector trials = {stored(0, 1.0, 1, space::Outcome::Wrong), stored(1, 1.1), stored(2, 1.11)};
  CHECK(tuner::choose_finalists(trials, 4) == std::vector<std::size_t>{1, 2});
  trials[2].trial.configuration = trials[1].trial.configuration;
  CHECK(tuner::choose_finalists(trials, 4) == std::vector<std::size_t>{1});
  CHECK(tuner::choose_finalists({}, 4).empty());
}

TEST_CASE("the fastest of the pairs wins, whatever its estimate was", "[finalists]") {
  const std::vector<Contender> contenders = {{.ratios = {}, .changes = 1},
                                             {.ratios = {0.11, 0.09, 0.10}, .changes = 5},
                                             {.ratios = {-0.1, -0.09}, .changes = 0}};
  CHECK(tuner::choose_winner(contenders, 1) == 1);
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

TEST_CASE("among those that cannot be distinguished the simplest wins", "[finalists]") {
  const std::vector<Contender> close = {{.ratios = {}, .changes = 4},
                                        {.ratios = {0.005, 0.004}, .changes = 6},
                                        {.ratios = {-0.002, -0.001}, .changes = 2}};
  CHECK(tuner::choose_winner(close, 1) == 2);    // within one per cent
  CHECK(tuner::choose_winner(close, 0.1) == 1);  // who wants every tenth gets it
  // Within the scatter of the pairs, although further away than the margin.
  const std::vector<Contender> scattered = {
      {.ratios = {}, .changes = 4}, {.ratios = {0.10, -0.06}, .changes = 6}, {.ratios = {0.09, -0.12}, .changes = 2}};
  CHECK(tuner::choose_winner(scattered, 1) == 2);
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

TEST_CASE("of a thousand campaigns of equal configurations at most one in twenty finds a winner", "[finalists]") {
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

TEST_CASE("the gain that is reported is the true one on average, and large ones are found", "[finalists]") {
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

TEST_CASE("a race finds five per cent in most campaigns, and nothing where there is nothing", "[finalists]") {
  int found = 0, false_alarms = 0;
  std::size_t processes = 0, finals = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    RecordedNoise planted(seed), equal(seed), same(seed);
    const SimulatedVerdict race = play_race({.planted = 0.05, .seed = seed}, planted);
    found += race.verdict == measure::Verdict::Faster && race.truth > 0 ? 1 : 0;
    const measure::Verdict nothing = play_race({.seed = seed}, equal).verdict;
    false_alarms += nothing == measure::Verdict::Faster || nothing == measure::Verdict::Slower ? 1 : 0;
    processes += race.processes;
    finals += play_campaign({.planted = 0.05}, same).processes;
  }
  INFO("found " << found << " of 500, false alarms " << false_alarms << ", processes " << processes / 500
                << ", of a campaign's finals " << finals / 500);
  CHECK(found > 450);
  CHECK(false_alarms <= 25);
  CHECK(processes < finals);
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
