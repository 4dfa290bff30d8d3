// What the finals leave of a budget of time goes back to the search: on a clock that only the test moves.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/tuner/campaign/campaign_fixture.hpp"
#include "tests/tuner/campaign/manual_clock.hpp"
#include "tuner/cli/output/answer_page.hpp"

namespace nocturne::test {
namespace {

using namespace std::chrono_literals;

/// A command that is timed as a whole.
tuner::CampaignSpec whole_command(const std::string& wall) {
  const std::string text = fmt::format(R"json({{
    "campaign": "test", "objective": {{"minimise": "time", "epochs": [1]}},
    "worker": {{"template": ["/bin/true", "{{size}}"], "time": "process"}},
    "space": {{"parameters": [{{"name": "size", "stage": "run", "range": [1, 500], "default": 1}},
                              {{"name": "threads", "stage": "run", "range": [1, 16], "default": 16}}]}},
    "strategy": {{"name": "auto", "seed": 3}}, "budget": {{"wall": "{}"}}, "run": {{"deadline": "600s"}},
    "verify": {{"finalists": 1, "simplify": false}}}})json",
                                       wall);
  auto spec = tuner::parse_campaign(text, "test.json", "/", space::Facts());
  if (!spec) FAIL(tuner::to_text(spec.error()));
  return std::move(*spec);
}

/// Each run takes its time, and each pair what it is told to. Some trials, by their number, are faster than others.
struct Afternoon : SessionFixture<ManualClock> {
  explicit Afternoon(const CampaignFolder& used) : SessionFixture(used) {
    executor.fate = [this](std::size_t count, const space::Configuration& configuration) {
      const std::chrono::nanoseconds deadline = executor.run_plans.back().deadline;
      const bool is_slow = slow.contains(count);
      clock.pass(is_slow ? std::min(slow[count], deadline) : run);
      if (is_slow && slow[count] > deadline) return space::Outcome::Timeout;
      if (faster.contains(count)) seconds[configuration.identity()] = faster[count];
      return space::Outcome::Ok;
    };
    // Fates come after times, so the time of a run is asked for once more.
    executor.process_sd = [this](const space::Configuration& configuration) {
      const std::size_t count = executor.run_configurations.size() - 1;
      const bool is_now = faster.contains(count) && executor.run_configurations.back() == configuration;
      return (is_now ? faster[count] / usual() : 1.0) * (count == 0 ? disturbed : 1.0);
    };
    executor.step_seconds = [this](const space::Configuration& configuration) {
      const auto known = seconds.find(configuration.identity());
      return known == seconds.end() ? usual() : known->second;
    };
    executor.while_in_turns = [this] { clock.pass(pair); };
  }

  tuner::SessionResult sit(const tuner::CampaignSpec& spec) {
    const auto began = clock.steady();
    auto result = with_session(spec, [](tuner::Session& session) { return tuner::Campaign(session, false).run(); });
    took = clock.steady() - began;
    return result;
  }

  /// Seconds of a trial that is neither faster nor slow.
  [[nodiscard]] double usual() const { return std::chrono::duration<double>(run).count(); }

  std::chrono::nanoseconds run = 72s, pair = 144s, took{};
  double disturbed = 1;                  ///< the first trial takes so many times what it should
  std::map<std::size_t, double> faster;  ///< seconds of a trial, by its number; as usual else
  std::map<std::string, double> seconds;
  std::map<std::size_t, std::chrono::nanoseconds> slow;  ///< what a run lasts, by its trial's number
};

}  // namespace

TEST_CASE("a search that finds nothing to verify uses the time that was kept for that", "[rest-of-time]") {
  const CampaignFolder folder;
  Afternoon afternoon(folder);
  CHECK(afternoon.sit(whole_command("15min")).ending == tuner::Ending::Complete);
  CHECK(afternoon.executor.pairs == 0);
  CHECK(afternoon.took > 12min);
  CHECK(afternoon.took <= 15min);
}

TEST_CASE("short finals give their time back, and a better trial found then is measured again", "[rest-of-time]") {
  const CampaignFolder folder;
  Afternoon afternoon(folder);
  afternoon.pair = 10s;
  afternoon.faster = {{2, 60.0}};
  SECTION("nothing better") {
    CHECK(afternoon.sit(whole_command("15min")).ending == tuner::Ending::Complete);
    CHECK(afternoon.executor.pairs == 4);  // of 132 s no more would have fitted
  }
  SECTION("something better") {
    afternoon.faster[7] = 40.0;
    CHECK(afternoon.sit(whole_command("15min")).ending == tuner::Ending::Complete);
    CHECK(afternoon.executor.pairs == 4 + 6);
    const db::Store store = afternoon.reading();
    const auto answer = tuner::answer_of(store, store.load_campaign("test"));
    REQUIRE(answer.best);
    CHECK(answer.best->trial.number == 7);
    CHECK(answer.verified_faster());
  }
  CHECK(afternoon.watcher.numbers.size() > 7);
  CHECK(afternoon.took > 12min);
  CHECK(afternoon.took <= 15min);
}

TEST_CASE("a campaign whose default was disturbed goes on with what the pairs say of it", "[rest-of-time]") {
  const CampaignFolder folder;
  Afternoon afternoon(folder);
  afternoon.run = afternoon.pair = 10s;
  // The default takes 5 s and looks like 50; everything else takes 10, but for one that is found after the finals.
  afternoon.disturbed = 10;
  afternoon.faster = {{0, 5.0}, {50, 2.5}};
  CHECK(afternoon.sit(whole_command("15min")).ending == tuner::Ending::Complete);
  const db::Store store = afternoon.reading();
  const auto answer = tuner::answer_of(store, store.load_campaign("test"));
  REQUIRE(answer.best);
  CHECK(answer.best->trial.number == 50);
  CHECK(answer.verified_faster());
  CHECK(std::abs(answer.baseline->trial.parts->steady_step - 5) < 1e-6);
  CHECK(afternoon.took <= 15min);
}

TEST_CASE("pairs that take longer than forecast end before the budget does", "[rest-of-time]") {
  const CampaignFolder folder;
  Afternoon afternoon(folder);
  afternoon.run = 10s;
  afternoon.pair = 100s;
  afternoon.faster = {{2, 8.0}};
  CHECK(afternoon.sit(whole_command("15min")).ending == tuner::Ending::Complete);
  CHECK(afternoon.executor.pairs == 1);  // after it, that three do not fit is known
  CHECK(afternoon.watcher.numbers.size() > 60);
  CHECK(afternoon.took > 14min);
  CHECK(afternoon.took <= 15min);
}

TEST_CASE("a trial that would use up the time of the verdict is ended, and the verdict is given", "[rest-of-time]") {
  const CampaignFolder folder;
  Afternoon afternoon(folder);
  afternoon.run = 10s;
  afternoon.pair = 20s;
  afternoon.executor.deadline = 600s;
  afternoon.faster = {{2, 5.0}};
  afternoon.slow = {{4, 400s}};
  CHECK(afternoon.sit(whole_command("5min")).ending == tuner::Ending::Complete);
  CHECK(afternoon.took <= 306s);
  const db::Store store = afternoon.reading();
  const auto answer = tuner::answer_of(store, store.load_campaign("test"));
  CHECK(answer.verified_faster());
  const space::Trial ended = store.load_numbered_trial(store.load_campaign("test").id, 4).trial;
  CHECK(ended.outcome == space::Outcome::Timeout);
  CHECK_THAT(ended.reason, Catch::Matchers::EndsWith("; the budget has no more time for a trial"));
}

TEST_CASE("where there is no time for the usual pairs, fewer are planned, and the budget is kept", "[rest-of-time]") {
  const CampaignFolder folder;
  Afternoon afternoon(folder);
  afternoon.faster = {{2, 60.0}};
  afternoon.pair = 132s;
  CHECK(afternoon.sit(whole_command("15min")).ending == tuner::Ending::Complete);
  CHECK(afternoon.executor.pairs == 4);
  CHECK(afternoon.took > 14min);
  CHECK(afternoon.took <= 15min);
  const db::Store store = afternoon.reading();
  CHECK(tuner::answer_of(store, store.load_campaign("test")).verified_faster());
}

TEST_CASE("where no verdict fits into the time, all of it is searched, and it is said which time would do",
          "[rest-of-time]") {
  const CampaignFolder folder;
  Afternoon afternoon(folder);
  afternoon.faster = {{2, 60.0}};
  const std::string wall = GENERATE("6min", "8min");
  CHECK(afternoon.sit(whole_command(wall)).ending == tuner::Ending::Complete);
  CHECK(afternoon.executor.pairs == 0);
  const auto whole = wall == "6min" ? 6min : 8min;
  CHECK(afternoon.took > whole - 72s);
  CHECK(afternoon.took <= whole);
  CHECK(std::ranges::any_of(afternoon.watcher.notes, [](const std::string& note) {
    return note.starts_with(
        "no time to compare trial 2 with the default: a verdict takes 3 pairs of about 132 s each, for which a budget "
        "of 17 min has room");
  }));
  CHECK(afternoon.sit(whole_command("17min")).ending == tuner::Ending::Complete);
  CHECK(afternoon.executor.pairs >= 3);
}

TEST_CASE("a page without a verdict for want of time says so", "[rest-of-time]") {
  const CampaignFolder folder;
  Afternoon afternoon(folder);
  afternoon.faster = {{2, 60.0}};
  CHECK(afternoon.sit(whole_command(GENERATE("6min", "8min"))).ending == tuner::Ending::Complete);
  const db::Store store = afternoon.reading();
  const auto answer = tuner::answer_of(store, store.load_campaign("test"));
  CHECK(cli::gain_sentence(answer) ==
        "looks 1.20 times as fast as the default, not measured again: its time was too short for 3 pairs with the "
        "default");
}

}  // namespace nocturne::test
