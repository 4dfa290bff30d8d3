#include "tuner/campaign/finals/finalists.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <random>
#include <vector>

#include "measure/comparison/comparison.hpp"
#include "measure/comparison/planned_looks.hpp"
#include "tuner/campaign/answer/changes.hpp"

namespace nocturne::tests {
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

/// What a campaign of equal configurations reports: the luck of a process has a heavy tail, and the machine drifts.
class EqualConfigurations {
 public:
  explicit EqualConfigurations(std::uint64_t seed) : random_(seed) {}

  /// ln of one process measured alone.
  double alone() { return 0.05 * student_(random_) / std::sqrt(2.0) + drift(); }
  /// ln(T_a / T_b) of a pair that is alive together: the drift cancels.
  double pair() { return 0.03 * student_(random_) / std::sqrt(2.0); }

 private:
  double drift() {
    drift_ = 0.95 * drift_ + 0.02 * normal_(random_);
    return drift_;
  }
  std::mt19937_64 random_;
  std::student_t_distribution<double> student_{4};  // variance 2
  std::normal_distribution<double> normal_;
  double drift_ = 0;
};

struct Reported {
  measure::Verdict verdict = measure::Verdict::Undecided;
  double log_ratio = 0;
};

/// The whole way from 30 trials to a verdict, `truth` being ln(T_default / T) of each of them.
Reported campaign(std::uint64_t seed, double truth) {
  EqualConfigurations machine(seed);
  std::vector<db::StoredTrial> trials;
  for (std::int64_t number = 1; number <= 30; ++number) {
    trials.push_back(stored(number, std::exp(machine.alone() - truth)));
  }
  const auto finalists = tuner::choose_finalists(trials, 4);
  std::vector<Contender> contenders(finalists.size());
  for (std::size_t i = 1; i < contenders.size(); ++i) {
    for (int pair = 0; pair < 4; ++pair) contenders[i].ratios.push_back(machine.pair());
  }
  static_cast<void>(tuner::choose_winner(contenders, 1));  // all are equal: whoever wins is worth `truth`
  std::vector<double> ratios;
  measure::Comparison comparison;
  static const auto looks = measure::plan_looks(6, 20);
  for (const measure::Look& look : looks) {
    while (static_cast<int>(ratios.size()) < look.pairs) ratios.push_back(truth + machine.pair());
    comparison = measure::compare(ratios, {.confidence = look.confidence});
    if (comparison.verdict != measure::Verdict::Undecided) break;
  }
  return {.verdict = comparison.verdict, .log_ratio = comparison.log_ratio};
}

}  // namespace

TEST_CASE("finalists are the trials that cannot be told from the smallest", "[finalists]") {
  // Two standard errors of a difference of single processes: 2 · 0.05 · √2 = 14 %.
  const std::vector trials = {stored(0, 2.0), stored(1, 1.0), stored(2, 1.1), stored(3, 1.2), stored(4, 1.05)};
  CHECK(tuner::choose_finalists(trials, 4) == std::vector<std::size_t>{1, 4, 2});
  CHECK(tuner::choose_finalists(trials, 2) == std::vector<std::size_t>{1, 4});
  // More processes, less luck.
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

TEST_CASE("among those that cannot be told apart the simplest wins", "[finalists]") {
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
  int faster = 0, slower = 0, same = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    const Reported reported = campaign(seed, 0);
    faster += reported.verdict == measure::Verdict::Faster ? 1 : 0;
    slower += reported.verdict == measure::Verdict::Slower ? 1 : 0;
    same += reported.verdict == measure::Verdict::Same ? 1 : 0;
  }
  INFO(faster << " faster, " << slower << " slower, " << same << " the same");
  CHECK(faster + slower <= 50);
}

TEST_CASE("the gain that is reported is the true one on average, and large ones are found", "[finalists]") {
  for (const double truth : {0.02, 0.05, 0.10}) {
    double sum = 0;
    int faster = 0;
    for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
      const Reported reported = campaign(seed, truth);
      sum += reported.log_ratio;
      faster += reported.verdict == measure::Verdict::Faster ? 1 : 0;
    }
    INFO("true gain " << truth << ", found in " << faster << " of 1000");
    CHECK(std::abs(sum / 1000 - truth) < 0.01);
    if (truth >= 0.05) CHECK(faster > 900);
  }
}

}  // namespace nocturne::tests
