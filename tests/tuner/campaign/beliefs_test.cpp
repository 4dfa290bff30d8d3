#include "tuner/campaign/finals/beliefs.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>

#include "tuner/campaign_file/campaign_file.hpp"

namespace nocturne::test {
namespace {

constexpr int kBeliefSwitches = 6;

std::string belief_switch(int number) {
  return fmt::format("switch{}", number);
}

bool is_on(const space::Configuration& configuration, int number) {
  return *configuration.find(belief_switch(number)) == space::Value(true);
}

space::Space space_of_switches() {
  std::string parameters;
  for (int i = 0; i < kBeliefSwitches; ++i)
    parameters += fmt::format(R"({}{{"name": "{}", "stage": "run", "type": "boolean", "default": false}})",
                              i == 0 ? "" : ", ", belief_switch(i));
  auto spec = tuner::parse_campaign(R"({"campaign": "test", "workload": {"network": "mnist_cnn"},
    "objective": {"minimise": "time", "epochs": [1]}, "worker": {"command": ["/bin/true"]}, "space": {"parameters": [)" +
                                        parameters + "]}}",
                                    "test.json", "/", space::Facts());
  if (!spec) FAIL(tuner::to_text(spec.error()));
  return std::move(spec->space);
}

/// `count` of the configurations, the default first, each with its log time.
std::vector<db::StoredTrial> trials_of(std::size_t count,
                                       const std::function<double(const space::Configuration&)>& log_time) {
  std::vector<db::StoredTrial> trials;
  for (std::size_t i = 0; i < count; ++i) {
    db::StoredTrial& trial = trials.emplace_back();
    trial.trial.number = static_cast<std::int64_t>(i);
    trial.trial.outcome = space::Outcome::Ok;
    const std::size_t code = (i * 37) % (1U << kBeliefSwitches);  // each once, spread
    for (int number = 0; number < kBeliefSwitches; ++number)
      trial.trial.configuration.set(belief_switch(number), space::Value((code >> number & 1U) == 1));
    const double value = std::exp(log_time(trial.trial.configuration));
    trial.trial.estimate = space::Estimate{.value = value, .standard_error = 0.001 * value, .runs = 1};
    trial.trial.parts = space::Parts{.steady_step = value};
  }
  return trials;
}

std::size_t believed_fastest(const std::vector<std::optional<tuner::Belief>>& beliefs) {
  std::size_t fastest = 0;
  for (std::size_t i = 1; i < beliefs.size(); ++i)
    if (beliefs[i]->log_time < beliefs[fastest]->log_time) fastest = i;
  return fastest;
}

}  // namespace

TEST_CASE("where processes scatter more than configurations differ, all trials together are believed", "[beliefs]") {
  // One switch gains 5 %, and processes scatter by 10: the smallest of sixty has it about as often as chance would.
  const auto space = space_of_switches();
  int by_belief = 0, by_estimate = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> noise(0, 0.1);
    const auto trials =
        trials_of(60, [&](const space::Configuration& each) { return (is_on(each, 2) ? -0.05 : 0) + noise(random); });
    const auto beliefs = tuner::believed_times(space, trials, 0.05);
    by_belief += is_on(trials[believed_fastest(beliefs)].trial.configuration, 2) ? 1 : 0;
    const auto smallest =
        std::ranges::min_element(trials, {}, [](const db::StoredTrial& each) { return each.trial.estimate->value; });
    by_estimate += is_on(smallest->trial.configuration, 2) ? 1 : 0;
  }
  INFO("of 40: by belief " << by_belief << ", by the smallest estimate " << by_estimate);
  CHECK(by_belief >= 35);
  CHECK(by_belief > by_estimate);
}

TEST_CASE("without noise a trial's own time is believed, whatever the model would rather have", "[beliefs]") {
  // The fastest is one that no sum of effects explains.
  const auto space = space_of_switches();
  const auto trials = trials_of(60, [](const space::Configuration& each) {
    double time = 0;
    for (int number = 0; number < kBeliefSwitches; ++number) time += is_on(each, number) ? 0.1 : 0;
    return is_on(each, 0) && is_on(each, 1) && is_on(each, 2) && is_on(each, 3) ? time - 0.6 : time;
  });
  const auto beliefs = tuner::believed_times(space, trials, 0.01);
  const auto smallest =
      std::ranges::min_element(trials, {}, [](const db::StoredTrial& each) { return each.trial.estimate->value; });
  CHECK(believed_fastest(beliefs) == static_cast<std::size_t>(smallest - trials.begin()));
}

TEST_CASE("a time that nobody expected counts less, and what failed has no belief", "[beliefs]") {
  const auto space = space_of_switches();
  auto trials = trials_of(40, [](const space::Configuration& each) { return is_on(each, 1) ? -0.2 : 0.0; });
  const std::size_t lucky = 7;
  const double before = tuner::believed_times(space, trials, 0.03)[lucky]->log_time;
  trials[lucky].trial.estimate->value *= std::exp(-0.5);
  trials[8].trial.outcome = space::Outcome::Crashed;
  const auto beliefs = tuner::believed_times(space, trials, 0.03);
  CHECK(before - beliefs[lucky]->log_time < 0.25);
  CHECK_FALSE(beliefs[8]);
}

TEST_CASE("of a handful of trials each is believed as far as a process is", "[beliefs]") {
  const auto trials = trials_of(3, [](const space::Configuration& each) { return is_on(each, 0) ? 0.1 : 0.0; });
  const auto beliefs = tuner::believed_times(space_of_switches(), trials, 0.05);
  for (std::size_t i = 0; i < trials.size(); ++i) {
    CHECK(std::abs(beliefs[i]->log_time - std::log(trials[i].trial.estimate->value)) < 1e-12);
    CHECK(std::abs(beliefs[i]->error - 0.05) < 0.001);
  }
}

}  // namespace nocturne::test
