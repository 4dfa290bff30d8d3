#include "tuner/preview/forecast.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "tests/tuner/campaign_file/sample_facts.hpp"
#include "tests/tuner/cli/cli_fixture.hpp"
#include "tests/tuner/roofline/sample_peaks.hpp"
#include "tuner/roofline/machine_figures.hpp"

using namespace nocturne;
using Catch::Approx;

namespace {

tuner::CampaignSpec spec_with(const std::string& budget, int steps = 40) {
  const std::string text = R"({"campaign": "a", "space": {"parameters": [
      {"name": "lto", "stage": "build", "type": "boolean"},
      {"name": "threads", "stage": "run", "range": [1, 50]}]}, "run": {"steps": )" +
                           std::to_string(steps) + R"(}, "budget": )" + budget + "}";
  auto spec = tuner::parse_campaign(text, "f.json", "/", test::sample_facts());
  if (!spec) FAIL(tuner::to_text(spec.error()));
  return std::move(*spec);
}

constexpr tuner::Costs kCosts = {
    .trial_seconds = 2, .trials = 5, .build_seconds = 10, .builds = 1, .finals_seconds = 30};

tuner::Forecast forecast(const std::string& budget, std::optional<double> until = {}) {
  const auto spec = spec_with(budget);
  return tuner::forecast(spec, tuner::survey(spec.space, {}), kCosts, until);
}

}  // namespace

TEST_CASE("without a budget everything is tried", "[preview]") {
  const auto result = forecast("{}");
  CHECK(result.everything_seconds == Approx(100 * 2 + 2 * 10 + 30));
  CHECK(result.trials == Approx(100));
  CHECK(result.seconds == result.everything_seconds);
  CHECK_FALSE(result.budget_seconds);
}

TEST_CASE("a budget of trials or of time cuts it", "[preview]") {
  CHECK(forecast(R"({"trials": 7})").trials == Approx(7));
  CHECK(forecast(R"({"trials": 7})").seconds.value() < 7 * 2 + 20 + 30);
  CHECK(forecast(R"({"trials": 7000})").trials == Approx(100));
  // 120 s less 30 for the end leaves 90: two builds and 35 trials.
  CHECK(forecast(R"({"wall": "120s"})").trials == Approx(35));
  CHECK(forecast(R"({"wall": "120s"})").seconds.value() <= 120);
  CHECK(forecast(R"({"wall": "1h"})").trials == Approx(100));
  CHECK(forecast(R"({"wall": "1h"})", 120.0).trials == Approx(35));
  CHECK(forecast(R"({"wall": "5s"})").trials == Approx(1));  // the default is measured, whatever the budget
}

TEST_CASE("builds are met one by one", "[preview]") {
  CHECK(tuner::time_of_trials(1, 1, kCosts) == Approx(12));
  CHECK(tuner::time_of_trials(100, 1, kCosts) == Approx(210));
  // Two draws of two builds meet 1.5 on average.
  CHECK(tuner::time_of_trials(2, 2, kCosts) == Approx(2 * 2 + 15));
  CHECK(tuner::time_of_trials(1e6, 4, kCosts) == Approx(2e6 + 40));
}

TEST_CASE("costs are assumed where nothing was measured, and scale with the run", "[preview]") {
  const auto few = tuner::costs_of(spec_with("{}", 10), nullptr);
  const auto many = tuner::costs_of(spec_with("{}", 100), nullptr);
  CHECK(few.trials == 0);
  CHECK(few.builds == 0);
  CHECK(many.trial_seconds > few.trial_seconds);
}

TEST_CASE("costs come from trials of the same network and length, where there are any", "[preview]") {
  test::CliFixture cli;
  const auto store = test::fill(cli);
  const auto trials = store.list_trials();
  const std::int64_t steps = trials.front().trial.fidelity.steps;
  const auto known = tuner::costs_of(spec_with("{}", static_cast<int>(steps)), &store);
  CHECK(known.trials > 0);
  const auto other = tuner::costs_of(spec_with("{}", static_cast<int>(steps) + 1), &store);
  CHECK(other.trials == 0);
}

TEST_CASE("a step of a machine whose peaks are known is estimated at half of what they allow", "[preview]") {
  test::CliFixture cli;
  auto store = cli.open();
  space::Fingerprint machine;
  machine.set({.name = "cpu.model", .value = "Two cores"});
  const auto spec = spec_with("{}", 100);
  CHECK_FALSE(tuner::first_estimate(spec, store, machine));
  store.save_machine_figures({.key = tuner::figures_key(machine), .fields = {}, .figures = test::sample_figures()});
  store.save_network("mnist_cnn", test::sample_network());
  // Batch 128, where a campaign does not say, on one thread: 100 GFLOP/s and 20 GB/s.
  const auto estimate = tuner::first_estimate(spec, store, machine);
  REQUIRE(estimate);
  CHECK(*estimate == Approx(2 * (71'565'312.0 * 128 / 100e9 + 7 * 1'199'882.0 * 4 / 20e9)));
  const auto costs = tuner::costs_of(spec, &store, estimate);
  CHECK(costs.trials == 0);
  CHECK(costs.step_seconds == estimate);
  const auto assumed = tuner::costs_of(spec, &store);
  CHECK_FALSE(assumed.step_seconds);
  CHECK(costs.trial_seconds - assumed.trial_seconds == Approx(100 * (*estimate - 0.1)));
}
