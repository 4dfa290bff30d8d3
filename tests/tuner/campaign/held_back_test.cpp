// Runs whose device lowered its clocks: they are kept, and measured again, but not for ever.

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/tuner/campaign/campaign_fixture.hpp"
#include "tuner/campaign_file/campaign_file.hpp"

namespace nocturne::test {
namespace {

using Catch::Matchers::ContainsSubstring;

tuner::CampaignSpec campaign_of(int trials) {
  auto spec = tuner::parse_campaign(fmt::format(R"({{
    "campaign": "test", "workload": {{"network": "mnist_cnn", "data": "mnist", "optimizer": "adadelta"}},
    "objective": {{"minimise": "time", "epochs": [1, 12]}}, "worker": {{"command": ["/bin/true"]}},
    "space": {{"parameters": [{{"name": "threads", "stage": "run", "range": [1, 8], "default": 4}}]}},
    "strategy": {{"name": "random", "seed": 3}}, "budget": {{"trials": {}}},
    "verify": {{"pairs": 2, "finalists": 1, "simplify": false, "slices": 2, "slice_steps": 2, "accuracy_epochs": 0}}}})",
                                                trials),
                                    "test.json", "/", space::Facts());
  if (!spec) FAIL(tuner::to_text(spec.error()));
  return std::move(*spec);
}

space::DeviceReport throttled_by(const std::string& reason) {
  return {.name = "Fake GPU", .readings = 4, .throttled = {{reason, 0.5}}};
}

/// How many runs the trial with this number has, and on how many its estimate rests.
std::pair<std::size_t, int> runs_of(const CampaignFixture& campaign_fixture, std::int64_t number) {
  const db::Store store = campaign_fixture.reading();
  const auto trials = store.list_trials({});
  const db::StoredTrial& trial = trials.at(static_cast<std::size_t>(number));
  std::size_t searched = 0;
  const auto detail = store.load_trial(trial.id);
  for (const auto& run : detail.runs) searched += run.record.run.purpose == space::Purpose::Search ? 1 : 0;
  return {searched, trial.trial.estimate.value().runs};
}

TEST_CASE("a run whose device was held back is measured again, and the trial rests on the other", "[campaign]") {
  const CampaignFolder folder;
  CampaignFixture campaign_fixture(folder);
  // The default's first process is hot, and takes twice as long.
  campaign_fixture.executor.device = [](std::size_t count) -> std::optional<space::DeviceReport> {
    return count == 0 ? std::optional(throttled_by("thermal")) : std::nullopt;
  };
  campaign_fixture.executor.process_sd = [&](const space::Configuration&) {
    return campaign_fixture.executor.run_configurations.size() == 1 ? 2.0 : 1.0;
  };
  CHECK(campaign_fixture.sit(campaign_of(3)).ending == tuner::Ending::Complete);
  REQUIRE(campaign_fixture.executor.run_configurations.size() >= 4);
  CHECK(campaign_fixture.executor.run_configurations[0] == campaign_fixture.executor.run_configurations[1]);
  CHECK(runs_of(campaign_fixture, 0) == std::pair<std::size_t, int>{2, 1});
  CHECK(runs_of(campaign_fixture, 1) == std::pair<std::size_t, int>{1, 1});
  const auto trials = campaign_fixture.reading().list_trials({});
  CHECK(trials.at(0).trial.parts.value().steady_step == Catch::Approx(0.05));
  REQUIRE_FALSE(campaign_fixture.watcher.notes.empty());
  CHECK_THAT(campaign_fixture.watcher.notes[0],
             ContainsSubstring("trial 0: the device was held back (thermal in 50 % of its "
                               "readings): it is measured again"));
}

TEST_CASE("a run under load is measured again before it teaches", "[campaign]") {
  const CampaignFolder folder;
  CampaignFixture campaign_fixture(folder);
  campaign_fixture.executor.other_cpu = [](std::size_t count) { return count == 0 ? 0.5 : 0.1; };
  campaign_fixture.executor.process_sd = [&](const space::Configuration&) {
    return campaign_fixture.executor.run_configurations.size() == 1 ? 2.0 : 1.0;
  };
  CHECK(campaign_fixture.sit(campaign_of(3)).ending == tuner::Ending::Complete);
  CHECK(runs_of(campaign_fixture, 0) == std::pair<std::size_t, int>{2, 1});
  CHECK(runs_of(campaign_fixture, 1) == std::pair<std::size_t, int>{1, 1});
  CHECK(campaign_fixture.reading().list_trials({}).at(0).trial.parts.value().steady_step == Catch::Approx(0.05));
  CHECK(campaign_fixture.watcher.notes.at(0) ==
        "trial 0: other processes took 50 % of the machine: it is measured again");
}

TEST_CASE("a default of which all runs were under load is measured again once the machine is quiet", "[campaign]") {
  const CampaignFolder folder;
  CampaignFixture campaign_fixture(folder);
  // The neighbour leaves during the first trial (both runs of the default, one of that), and slows all that it meets.
  std::size_t loaded = 3;
  campaign_fixture.executor.other_cpu = [&](std::size_t count) { return count < loaded ? 0.5 : 0.1; };
  campaign_fixture.executor.process_sd = [&](const space::Configuration&) {
    return campaign_fixture.executor.run_configurations.size() <= loaded ? 4.0 : 1.0;
  };
  const auto default_step = [&] {
    return campaign_fixture.reading().list_trials({}).at(0).trial.parts.value().steady_step;
  };
  SECTION("in the same session") {}
  SECTION("in the next one") {
    CHECK(campaign_fixture.sit(campaign_of(1)).ending == tuner::Ending::Complete);
    CHECK(default_step() == Catch::Approx(0.2));
  }
  CHECK(campaign_fixture.sit(campaign_of(3)).ending == tuner::Ending::Complete);
  CHECK(runs_of(campaign_fixture, 0) == std::pair<std::size_t, int>{3, 1});
  CHECK(runs_of(campaign_fixture, 1) == std::pair<std::size_t, int>{2, 1});
  CHECK(runs_of(campaign_fixture, 2) == std::pair<std::size_t, int>{1, 1});
  CHECK(default_step() == Catch::Approx(0.05));
  const auto& notes = campaign_fixture.watcher.notes;
  CHECK(std::ranges::count(notes, "trial 0 takes 0.25 times what its disturbed runs said") == 1);
}

TEST_CASE("a neighbour that comes back whenever the default is measured is the machine as it is", "[campaign]") {
  const CampaignFolder folder;
  CampaignFixture campaign_fixture(folder);
  const auto& runs = campaign_fixture.executor.run_configurations;
  campaign_fixture.executor.other_cpu = [&](std::size_t count) { return runs.at(count) == runs.front() ? 0.5 : 0.1; };
  CHECK(campaign_fixture.sit(campaign_of(8)).ending == tuner::Ending::Complete);
  CHECK(runs_of(campaign_fixture, 0) == std::pair<std::size_t, int>{2 + 3, 2});
}

TEST_CASE("a run that surprises the model is measured again before it teaches", "[campaign]") {
  const CampaignFolder folder;
  CampaignFixture campaign_fixture(folder);
  auto spec = tuner::parse_campaign(R"({
    "campaign": "test", "workload": {"network": "mnist_cnn", "data": "mnist", "optimizer": "adadelta"},
    "objective": {"minimise": "time", "epochs": [12]}, "worker": {"command": ["/bin/true"]},
    "space": {"parameters": [{"name": "threads", "stage": "run", "range": [1, 8], "default": 4},
                             {"name": "spins", "stage": "run", "range": [1, 8], "default": 4},
                             {"name": "pages", "stage": "run", "type": "boolean", "default": false}]},
    "strategy": {"name": "auto"}, "budget": {"trials": 40},
    "verify": {"pairs": 2, "finalists": 1, "simplify": false, "slices": 2, "slice_steps": 2, "accuracy_epochs": 0}})",
                                    "test.json", "/", space::Facts());
  REQUIRE(spec);
  campaign_fixture.executor.step_seconds = [](const space::Configuration& each) {
    const auto number = [&](const char* name) { return static_cast<double>(std::get<std::int64_t>(*each.find(name))); };
    return 0.05 * std::exp(0.03 * number("spins") - 0.1 * number("threads"));
  };
  const std::size_t disturbed = 30;
  campaign_fixture.executor.process_sd = [&](const space::Configuration&) {
    return campaign_fixture.executor.run_configurations.size() == disturbed + 1 ? 4.0 : 1.0;
  };
  CHECK(campaign_fixture.sit(*spec).ending == tuner::Ending::Complete);
  const auto& runs = campaign_fixture.executor.run_configurations;
  REQUIRE(runs.size() > disturbed + 1);
  CHECK(runs[disturbed] == runs[disturbed + 1]);
  CHECK(runs.size() <= 40 + 4);  // and hardly any other is
}

TEST_CASE("a device that is hot all night costs each trial one run more, and no trial is lost", "[campaign]") {
  const CampaignFolder folder;
  CampaignFixture campaign_fixture(folder);
  campaign_fixture.executor.device = [](std::size_t) { return std::optional(throttled_by("thermal")); };
  CHECK(campaign_fixture.sit(campaign_of(3)).ending == tuner::Ending::Complete);
  for (const std::int64_t number : {0, 1, 2})
    CHECK(runs_of(campaign_fixture, number) == std::pair<std::size_t, int>{2, 2});
}

TEST_CASE("a device that keeps to its power is no reason to measure again", "[campaign]") {
  const CampaignFolder folder;
  CampaignFixture campaign_fixture(folder);
  campaign_fixture.executor.device = [](std::size_t) { return std::optional(throttled_by("power_cap")); };
  CHECK(campaign_fixture.sit(campaign_of(3)).ending == tuner::Ending::Complete);
  for (const std::int64_t number : {0, 1, 2})
    CHECK(runs_of(campaign_fixture, number) == std::pair<std::size_t, int>{1, 1});
  const auto store = campaign_fixture.reading();
  const auto trials = store.list_trials({});
  CHECK(store.load_trial(trials.at(0).id).runs.at(0).record.run.device == throttled_by("power_cap"));
}

}  // namespace
}  // namespace nocturne::test
