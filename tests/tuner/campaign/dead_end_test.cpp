// A campaign in which nothing works.

#include <cstddef>
#include <string>

#include <fmt/format.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/tuner/campaign/campaign_fixture.hpp"
#include "tuner/campaign/search_state.hpp"
#include "tuner/campaign_file/campaign_file.hpp"

namespace nocturne::test {
namespace {

using Catch::Matchers::ContainsSubstring;
using space::Outcome;
using tuner::DeadEnd;

space::Trial ended(Outcome outcome, std::string reason) {
  space::Trial trial;
  trial.outcome = outcome;
  trial.reason = std::move(reason);
  return trial;
}

DeadEnd after_failures(std::size_t count) {
  DeadEnd end;
  for (std::size_t i = 0; i < count; ++i)
    end.learn(ended(Outcome::Crashed, fmt::format("pid {}: no such file", 7 * i)));
  return end;
}

tuner::CampaignSpec forty_trials() {
  auto spec = tuner::parse_campaign(R"({
    "campaign": "test", "workload": {"network": "mnist_cnn", "data": "mnist", "optimizer": "adadelta"},
    "objective": {"minimise": "time", "epochs": [1, 12]}, "worker": {"command": ["/bin/true"]},
    "space": {"parameters": [{"name": "threads", "stage": "run", "range": [1, 64], "default": 4}]},
    "strategy": {"name": "random", "seed": 3}, "budget": {"trials": 40},
    "verify": {"pairs": 2, "finalists": 1, "simplify": false, "slices": 2, "slice_steps": 2, "accuracy_epochs": 0}})",
                                    "test.json", "/", space::Facts());
  if (!spec) FAIL(tuner::to_text(spec.error()));
  return std::move(*spec);
}

}  // namespace

TEST_CASE("equal failures from the first on are a dead end, whatever numbers they name", "[campaign]") {
  CHECK_FALSE(after_failures(DeadEnd::kFailures - 1).reached());
  const auto why = after_failures(DeadEnd::kFailures).reached();
  REQUIRE(why);
  CHECK_THAT(*why, ContainsSubstring("the first 20 trials") && ContainsSubstring("pid 0: no such file") &&
                       ContainsSubstring("--fresh"));
}

TEST_CASE("where anything worked, or failed otherwise, the search goes on", "[campaign]") {
  for (const Outcome other : {Outcome::Ok, Outcome::BuildFailed}) {
    for (const std::size_t before : {std::size_t{0}, DeadEnd::kFailures - 1}) {
      DeadEnd end = after_failures(before);
      end.learn(ended(other, other == Outcome::Ok ? "" : "no such flag"));
      for (std::size_t i = 0; i < 2 * DeadEnd::kFailures; ++i)
        end.learn(ended(Outcome::Crashed, "pid 1: no such file"));
      CHECK_FALSE(end.reached());
    }
  }
}

TEST_CASE("a run that was killed says nothing of a dead end", "[campaign]") {
  DeadEnd end = after_failures(DeadEnd::kFailures - 1);
  end.learn(ended(Outcome::Killed, "interrupted"));
  CHECK_FALSE(end.reached());
  end.learn(ended(Outcome::Crashed, "pid 1: no such file"));
  CHECK(end.reached());
}

TEST_CASE("a campaign in which nothing works ends early, and says why", "[campaign]") {
  const CampaignFolder folder;
  CampaignFixture campaign_fixture(folder);
  campaign_fixture.executor.fate = [](std::size_t, const space::Configuration&) { return Outcome::Failed; };
  const auto result = campaign_fixture.sit(forty_trials());
  CHECK(result.ending == tuner::Ending::Complete);
  CHECK_THAT(result.because, ContainsSubstring("nothing works") && ContainsSubstring("the test wanted it"));
  CHECK(campaign_fixture.watcher.numbers.size() == DeadEnd::kFailures);
}

TEST_CASE("a campaign whose twentieth trial works goes on to the end of its budget", "[campaign]") {
  const CampaignFolder folder;
  CampaignFixture campaign_fixture(folder);
  campaign_fixture.executor.fate = [](std::size_t count, const space::Configuration&) {
    return count + 1 < DeadEnd::kFailures ? Outcome::Failed : Outcome::Ok;
  };
  const auto result = campaign_fixture.sit(forty_trials());
  CHECK(result.ending == tuner::Ending::Complete);
  CHECK_THAT(result.because, !ContainsSubstring("nothing works"));
  CHECK(campaign_fixture.watcher.numbers.size() == 40);
}

}  // namespace nocturne::test
