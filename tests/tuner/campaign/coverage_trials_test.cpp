#include "tuner/campaign/proposal_sources.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "tests/tuner/campaign/campaign_fixture.hpp"
#include "tuner/campaign_file/campaign_file.hpp"

namespace nocturne::test {
namespace {

using namespace std::chrono_literals;

/// Three frameworks; the layout of the default fits only its own.
const std::string kThree = R"([
  {"name": "framework", "stage": "environment", "values": ["ours", "theirs", "old"], "default": "ours"},
  {"name": "layout", "stage": "run", "values": ["blocked", "nchw"], "default": "blocked"},
  {"name": "batch", "stage": "run", "values": [32, 64, 128, 256], "default": 128},
  {"name": "threads", "stage": "run", "range": [1, 8], "default": 8}])";
const std::string kOwnLayout = R"json([
  {"require": "(layout == 'blocked') == (framework == 'ours')", "because": "its own"}])json";

tuner::CampaignSpec three_frameworks(const std::string& strategy, const std::string& budget,
                                     const std::string& parameters = kThree) {
  const std::string text = R"({
    "campaign": "test", "workload": {"network": "mnist_cnn", "data": "mnist", "optimizer": "adadelta"},
    "objective": {"minimise": "time", "epochs": [12]}, "worker": {"command": ["/bin/true"]},
    "space": {"parameters": )" +
                           parameters + R"(, "constraints": )" + kOwnLayout + R"(},
    "strategy": {"name": ")" +
                           strategy + R"("}, "budget": )" + budget + R"(, "run": {"steps": 10},
    "verify": {"pairs": 2, "finalists": 1, "simplify": false, "slices": 2, "slice_steps": 2, "accuracy_epochs": 0,
               "gate": {"on": false}}})";
  auto spec = tuner::parse_campaign(text, "test.json", "/", space::Facts());
  if (!spec) FAIL(tuner::to_text(spec.error()));
  return std::move(*spec);
}

std::string framework_of(const space::Configuration& configuration) {
  return space::to_text(*configuration.find("framework"));
}

/// Frameworks of the trials in their order, and who asked for each.
std::vector<std::string> asked_for(CampaignFixture& campaign_fixture) {
  const db::Store store = campaign_fixture.reading();
  std::vector<std::string> lines;
  const auto exchanges = store.exchanges(store.find_campaign("test").value().id);
  for (const db::Exchange& exchange : exchanges)
    if (const auto* ask = std::get_if<db::Ask>(&exchange))
      lines.push_back(ask->strategy + ": " + framework_of(ask->answer.front().configuration));
  return lines;
}

std::ptrdiff_t coverage_trials_in(const std::vector<std::string>& lines) {
  return std::ranges::count_if(lines, [](const std::string& line) { return line.starts_with("coverage trial"); });
}

/// Interrupts a campaign after its coverage trial, and resumes it.
std::vector<std::string> asked_for_in_two_sessions(const tuner::CampaignSpec& spec) {
  const CampaignFolder folder;
  CampaignFixture campaign_fixture(folder);
  campaign_fixture.watcher.after = [&campaign_fixture](const space::Trial& trial) {
    if (trial.number == 1) campaign_fixture.interruption.finish();
  };
  REQUIRE(campaign_fixture.sit(spec).ending == tuner::Ending::Interrupted);
  REQUIRE(coverage_trials_in(asked_for(campaign_fixture)) == 1);
  CampaignFixture again(folder);
  again.executor.id_suffix = "+";
  again.sit(spec);
  return asked_for(again);
}

}  // namespace

TEST_CASE("a coverage trial is the default with another framework, and what must change with it", "[coverage-trials]") {
  const auto spec = three_frameworks("auto", "{}");
  const auto looks = tuner::coverage_trials(spec.space);
  REQUIRE(looks.size() == 2);
  CHECK(framework_of(looks[0].configuration) == "theirs");
  CHECK(framework_of(looks[1].configuration) == "old");
  for (const auto& look : looks) {
    CHECK(spec.space.check(look.configuration).empty());
    CHECK(space::to_text(*look.configuration.find("layout")) == "nchw");
    CHECK(space::to_text(*look.configuration.find("batch")) == "128");
    CHECK(tuner::is_part_of(look, look.configuration));
    CHECK_FALSE(tuner::is_part_of(look, spec.space.default_configuration()));
  }
}

TEST_CASE("coverage trials keep to a fifth of the budget", "[coverage-trials]") {
  CHECK(tuner::fits({.taken = 3, .spent = 10min, .trials = {}, .time = {}}, 1h));
  CHECK(tuner::fits({.taken = 0, .spent = 0s, .trials = {}, .time = 300s}, 60s));
  CHECK_FALSE(tuner::fits({.taken = 0, .spent = 1s, .trials = {}, .time = 300s}, 60s));
  CHECK(tuner::fits({.taken = 1, .spent = 0s, .trials = 10, .time = {}}, 1s));
  CHECK_FALSE(tuner::fits({.taken = 2, .spent = 0s, .trials = 10, .time = {}}, 1s));
}

TEST_CASE("each framework is tried before a strategy that learns is asked", "[coverage-trials]") {
  const CampaignFolder folder;
  CampaignFixture campaign_fixture(folder);
  campaign_fixture.sit(three_frameworks("auto", R"({"trials": 12})"));
  const auto lines = asked_for(campaign_fixture);
  REQUIRE(lines.size() >= 12);
  CHECK(lines[0] == "default: ours");
  CHECK(lines[1] == "coverage trial: theirs");
  CHECK(lines[2] == "coverage trial: old");
  CHECK(coverage_trials_in(lines) == 2);
}

TEST_CASE("no coverage trials for a strategy that does not learn, nor where they would take the budget",
          "[coverage-trials]") {
  const CampaignFolder folder;
  CampaignFixture campaign_fixture(folder);
  SECTION("random") {
    campaign_fixture.sit(three_frameworks("random", R"({"trials": 12})"));
  }
  SECTION("few trials") {
    campaign_fixture.sit(three_frameworks("auto", R"({"trials": 4})"));
  }
  CHECK(coverage_trials_in(asked_for(campaign_fixture)) == 0);
}

TEST_CASE("a campaign that is resumed takes the coverage trials that are left, once", "[coverage-trials]") {
  const auto lines = asked_for_in_two_sessions(three_frameworks("auto", R"({"trials": 12})"));
  CHECK(coverage_trials_in(lines) == 2);
}

TEST_CASE("what coverage trials took before a campaign was resumed counts towards their share", "[coverage-trials]") {
  // Two minutes for each framework: of 200 s, a fifth, one is taken.
  const auto lines = asked_for_in_two_sessions(three_frameworks("auto", R"({"trials": 12, "wall": "1000s"})"));
  CHECK(lines.size() > 3);
  CHECK(coverage_trials_in(lines) == 1);
}

}  // namespace nocturne::test
