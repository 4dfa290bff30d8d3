// A campaign whose installations and builds are cut: its time is over, or the user wants an end. No processes.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/tuner/campaign/campaign_fixture.hpp"
#include "tests/tuner/campaign/manual_clock.hpp"

namespace nocturne::test {
namespace {

using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;

tuner::CampaignSpec spec_of(const std::string& budget) {
  auto spec = tuner::parse_campaign(fmt::format(R"json({{
    "campaign": "test", "workload": {{"network": "mnist_cnn", "data": "mnist", "optimizer": "adadelta"}},
    "objective": {{"minimise": "time", "epochs": [1, 12]}}, "worker": {{"command": ["/bin/true"]}},
    "space": {{"parameters": [{{"name": "march", "stage": "build", "values": ["native", "x86-64"], "default": "native"}},
                              {{"name": "threads", "stage": "run", "range": [1, 8], "default": 4}}]}},
    "strategy": {{"name": "random", "seed": 3}}, "budget": {},
    "verify": {{"pairs": 2, "finalists": 1, "simplify": false, "accuracy_epochs": 0}}}})json",
                                                budget),
                                    "test.json", "/", space::Facts());
  if (!spec) FAIL(tuner::to_text(spec.error()));
  return *std::move(spec);
}

/// Calls `meanwhile` with the count of each preparation, from 0 in each session.
struct Evening : CampaignFolder, SessionFixture<ManualClock> {
  Evening() : SessionFixture(static_cast<const CampaignFolder&>(*this)) {
    executor.while_preparing = [this] { meanwhile(preparations++); };
    executor.fate = [this](std::size_t, const space::Configuration&) {
      clock.pass(10s);
      return space::Outcome::Ok;
    };
    executor.while_in_turns = [this] { clock.pass(1s); };
  }

  tuner::SessionResult sit(const tuner::CampaignSpec& spec, tuner::PreflightMode preflight = tuner::PreflightMode::No) {
    preparations = 0;
    watcher.notes.clear();
    const auto result = with_session(spec, [preflight](tuner::Session& session) {
      session.preflight = preflight;
      return tuner::Campaign(session, false).run();
    });
    executor.id_suffix += "+";
    return result;
  }
  [[nodiscard]] bool is_finished() const {
    return reading().find_campaign("test").value().finished_unix_ns.has_value();
  }
  [[nodiscard]] std::size_t stored_trials() const {
    const auto store = reading();
    return store.list_trials({.campaign = store.find_campaign("test").value().id}).size();
  }

  std::size_t preparations = 0;
  std::function<void(std::size_t)> meanwhile = [](std::size_t) {};
};

/// A machine elsewhere that has no time for its first order.
struct ElsewhereWithoutTime final : tuner::OrderExecutor {
  [[nodiscard]] std::size_t slots() const override { return 1; }
  void submit(tuner::TrialOrder order) override { number = order.number; }
  [[nodiscard]] tuner::TrialAnswer next() override { return {.number = number, .end = tuner::OrderEnd::OutOfTime}; }
  std::int64_t number = 0;
};

}  // namespace

TEST_CASE("what is prepared when the time is over is cut, is no failure, and the same command goes on",
          "[interruption]") {
  Evening evening;
  const auto spec = spec_of(R"({"trials": 3, "wall": "1h"})");
  for (const std::size_t cut : {0U, 2U}) {
    evening.meanwhile = [&](std::size_t count) {
      if (count == cut) evening.interruption.cut_preparation();
    };
    const std::size_t known = evening.watcher.numbers.size();
    const auto result = evening.sit(spec);
    CHECK(result.ending == tuner::Ending::OutOfTime);
    CHECK_THAT(result.because, ContainsSubstring("the campaign's time was over: what was being installed or built"));
    CHECK(evening.watcher.numbers.size() == known + cut);
    CHECK(evening.stored_trials() == known + cut);
    CHECK_FALSE(evening.is_finished());
    REQUIRE_FALSE(evening.watcher.notes.empty());
    CHECK(evening.watcher.notes.front() == "interrupted; the same command goes on");
  }
  evening.meanwhile = [](std::size_t) {};
  CHECK(evening.sit(spec).ending == tuner::Ending::Complete);
  CHECK(evening.watcher.numbers == std::vector<std::int64_t>{0, 1, 2});
  CHECK(evening.is_finished());
}

TEST_CASE("an order that had no time on another machine ends the session likewise", "[interruption]") {
  Evening evening;
  ElsewhereWithoutTime elsewhere;
  const auto spec = spec_of(R"({"trials": 3, "wall": "1h"})");
  const auto result = evening.with_session(
      spec, [&](tuner::Session& session) { return tuner::Campaign(session, false, &elsewhere).run(); });
  CHECK(result.ending == tuner::Ending::OutOfTime);
  CHECK(evening.stored_trials() == 0);
}

TEST_CASE("time that is kept for verifying what was found is not spent on an installation", "[interruption]") {
  const bool is_slow =
      GENERATE(true, false);  // the default; where it is not, its rivals may still be shown to be faster
  Evening evening;
  evening.executor.step_seconds = [is_slow](const space::Configuration& configuration) {
    return configuration.integer_of("threads") == 4 && is_slow ? 0.05 : 0.01;
  };
  std::vector<std::chrono::nanoseconds> times;
  evening.meanwhile = [&](std::size_t count) {
    times.push_back(evening.interruption.preparation_time().value());
    if (count == 5) evening.interruption.cut_preparation();
  };
  CHECK(evening.sit(spec_of(R"({"wall": "1000s"})")).ending == tuner::Ending::OutOfTime);
  REQUIRE(times.size() > 5);
  const auto about = [](std::chrono::nanoseconds time, std::chrono::seconds what) {
    return time <= what && time > what - 60s;  // that this test may take
  };
  CHECK(about(times[0], 1000s));
  CHECK(about(times[1], 990s));  // with the default alone there is nothing to verify
  CHECK(about(times[5], 950s - 150s));
  if (!is_slow) return;
  CHECK(about(times.back(), 950s));  // the finals
  CHECK(evening.executor.pairs == 2);
}

TEST_CASE("where no time is named a preparation takes as long as it wants", "[interruption]") {
  Evening evening;
  evening.meanwhile = [&](std::size_t) { CHECK_FALSE(evening.interruption.preparation_time()); };
  CHECK(evening.sit(spec_of(R"({"trials": 2})")).ending == tuner::Ending::Complete);
  CHECK(evening.preparations > 1);
  CHECK(evening.sit(spec_of(R"({"wall": "1h"})"), tuner::PreflightMode::Only).ending == tuner::Ending::PreflightOnly);
}

TEST_CASE("a preflight whose time is over keeps nothing of what was cut, and the next session tries it",
          "[interruption]") {
  Evening evening;
  const auto spec = spec_of(R"({"trials": 2, "wall": "1h"})");
  evening.meanwhile = [&](std::size_t count) {
    CHECK(evening.interruption.preparation_time() > 50min);
    if (count == 1) evening.interruption.cut_preparation();
  };
  const auto cut = evening.sit(spec, tuner::PreflightMode::First);
  CHECK(cut.ending == tuner::Ending::OutOfTime);
  CHECK_THAT(cut.because, ContainsSubstring("the campaign's time was over in the preflight"));
  CHECK(evening.reading().preflights(cut.campaign).size() == 1);
  evening.meanwhile = [](std::size_t) {};
  CHECK(evening.sit(spec, tuner::PreflightMode::First).ending == tuner::Ending::Complete);
  CHECK(evening.reading().preflights(cut.campaign).size() == 2);
}

TEST_CASE("finals that cannot prepare in time are made by the next session", "[interruption]") {
  Evening evening;
  const auto spec = spec_of(R"({"trials": 2, "wall": "1h"})");
  evening.executor.step_seconds = [](const space::Configuration& configuration) {
    return configuration.integer_of("threads") == 4 ? 0.05 : 0.01;
  };
  evening.meanwhile = [&](std::size_t count) {
    if (count == 2) evening.interruption.cut_preparation();
  };
  const auto cut = evening.sit(spec);
  CHECK(cut.ending == tuner::Ending::OutOfTime);
  CHECK_THAT(cut.because, ContainsSubstring("the campaign's time was over while the best was measured again"));
  CHECK(evening.watcher.numbers.size() == 2);
  CHECK(evening.executor.pairs == 0);
  evening.meanwhile = [](std::size_t) {};
  CHECK(evening.sit(spec).ending == tuner::Ending::Complete);
  CHECK(evening.executor.pairs == 2);
}

TEST_CASE("the first interruption cuts what is prepared, and leaves a run alone", "[interruption]") {
  Evening evening;
  evening.meanwhile = [&](std::size_t count) {
    if (count == 1) evening.interruption.finish();
  };
  const auto result = evening.sit(spec_of(R"({"trials": 3, "wall": "1h"})"));
  CHECK(result.ending == tuner::Ending::Interrupted);
  CHECK(evening.watcher.numbers == std::vector<std::int64_t>{0});
  CHECK(evening.stored_trials() == 1);
  CHECK(evening.watcher.notes == std::vector<std::string>{"interrupted; the same command goes on"});

  Evening running;
  running.executor.fate = [&](std::size_t count, const space::Configuration&) {
    if (count == 1) running.interruption.finish();
    return space::Outcome::Ok;
  };
  CHECK(running.sit(spec_of(R"({"trials": 3})")).ending == tuner::Ending::Interrupted);
  CHECK(running.watcher.numbers == std::vector<std::int64_t>{0, 1});
}

}  // namespace nocturne::test
