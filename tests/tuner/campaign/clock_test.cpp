// A wall clock that jumps, a machine that sleeps, and a whole night on a clock that only the test moves.

#include "tuner/campaign/clock.hpp"

#include <ctime>
#include <functional>

#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>

#include "tests/support/temporary_folder.hpp"
#include "tests/tuner/campaign/fake_executor.hpp"
#include "tests/tuner/campaign/manual_clock.hpp"
#include "tuner/campaign/answer/answer.hpp"
#include "tuner/campaign/campaign.hpp"

namespace nocturne::test {
namespace {

using namespace std::chrono_literals;
using space::Outcome;

TEST_CASE("a wall clock that was set is noticed once, one that is corrected a little is not", "[clock]") {
  ManualClock clock;
  tuner::ClockWatch watch(clock);
  const auto began = clock.wall();
  clock.pass(8h);
  CHECK_FALSE(watch.look());
  clock.set_wall_by(90s);
  CHECK_FALSE(watch.look());
  clock.set_wall_by(3h);
  CHECK(watch.look().value().starts_with("the wall clock was set forward by 3h1min30s; what was measured holds"));
  CHECK_FALSE(watch.look());
  CHECK(watch.began() == began + 3h + 90s);
  clock.pass(1h);
  clock.set_wall_by(-5h);
  CHECK(watch.look().value().starts_with("the wall clock was set back by 5h;"));
  CHECK_FALSE(watch.look());
  CHECK(watch.began() == began - 2h + 90s);
}

TEST_CASE("a machine that slept is not one whose clock was set", "[clock]") {
  ManualClock clock;
  tuner::ClockWatch watch(clock);
  const auto began = clock.wall();
  clock.pass(1h);
  clock.sleep(7h);
  CHECK(watch.look() == "the machine slept for 7h; what was measured holds");
  CHECK_FALSE(watch.look());
  CHECK(watch.began() == began);
}

TEST_CASE("a campaign's clock stands still while another one measures, which nobody takes for a clock that was set",
          "[clock]") {
  ManualClock machine;
  const tuner::CampaignClock clock(machine);
  tuner::ClockWatch watch(clock);
  const auto began = clock.steady();
  machine.pass(3h);
  clock.leave_out(2h);
  CHECK(clock.steady() - began == 1h);
  CHECK_FALSE(watch.look());
  CHECK(watch.began() == clock.wall() - 3h);
}

TEST_CASE("the system's clock says how long the machine slept, and does not run backwards", "[clock]") {
  const tuner::SystemClock clock;
  CHECK(clock.slept() > -1s);
  tuner::ClockWatch watch(clock);
  CHECK_FALSE(watch.look());
}

struct Listener final : tuner::Observer {
  std::vector<std::string> notes;
  std::vector<Outcome> outcomes;
  void finished(const space::Trial& trial, bool, const tuner::Progress&) override { outcomes.push_back(trial.outcome); }
  void note(const std::string& sentence) override { notes.push_back(sentence); }
};

/// A campaign that has until an hour of the day, eight hours after it begins, with trials of ten minutes.
struct Night {
  Night() {
    const std::time_t end = std::chrono::system_clock::to_time_t(clock.wall() + 8h);
    std::tm parts{};
    ::localtime_r(&end, &parts);
    const std::string text = R"({
      "campaign": "test", "workload": {"network": "mnist_cnn", "data": "mnist", "optimizer": "adadelta"},
      "objective": {"minimise": "time", "epochs": [1, 12]}, "worker": {"command": ["/bin/true"]},
      "space": {"parameters": [{"name": "threads", "stage": "run", "range": [1, 500], "default": 4}]},
      "strategy": {"name": "random", "seed": 3}, "run": {"deadline": "1h"},
      "verify": {"pairs": 2, "finalists": 1, "simplify": false, "slices": 2, "slice_steps": 2, "accuracy_epochs": 0},
      "budget": {"until": ")" +
                             fmt::format("{:02}:{:02}", parts.tm_hour, parts.tm_min) + "\"}}";
    auto parsed = tuner::parse_campaign(text, "test.json", "/", space::Facts());
    if (!parsed) FAIL(tuner::to_text(parsed.error()));
    spec.emplace(std::move(*parsed));
    executor.step_seconds = [](const space::Configuration& each) {
      return 10.0 / static_cast<double>(std::get<std::int64_t>(*each.find("threads")));
    };
    executor.fate = [this](std::size_t count, const space::Configuration&) {
      const Outcome outcome = happens ? happens(count) : Outcome::Ok;
      clock.pass(10min);
      return outcome;
    };
  }

  tuner::SessionResult pass() {
    auto store = db::Store::open(folder.path() / "test.db", db::Mode::ReadWrite);
    const auto began = clock.steady();
    tuner::Session session{.spec = *spec,
                           .store = store,
                           .executor = executor,
                           .observer = listener,
                           .clock = clock,
                           .interruption = interruption,
                           .fingerprint_now = {},
                           .slot_folder = folder.path()};
    auto result = tuner::Campaign(session, false).run();
    took = clock.steady() - began;
    answer = tuner::answer_of(store, store.find_campaign("test").value());
    return result;
  }

  test::TemporaryFolder folder;
  ManualClock clock;
  std::optional<tuner::CampaignSpec> spec;
  FakeExecutor executor;
  Listener listener;
  tuner::Interruption interruption;
  std::function<Outcome(std::size_t)> happens;
  std::chrono::nanoseconds took{};
  tuner::Answer answer;
};

TEST_CASE("an undisturbed night ends in time, with what the finals need kept", "[clock]") {
  Night night;
  CHECK(night.pass().ending == tuner::Ending::Complete);
  CHECK(night.took <= 8h);
  CHECK(night.took > 6h);
  CHECK(night.listener.notes.empty());
}

TEST_CASE("the hour is kept by a wall clock that was set, and nothing is lost", "[clock]") {
  for (const auto& [jump, most] : {std::pair{3h, 5h}, std::pair{-3h, 11h}, std::pair{-20h, 4h}, std::pair{9h, 23h}}) {
    CAPTURE(jump.count());
    Night night;
    night.happens = [&night, by = jump](std::size_t count) {
      if (count == 6) night.clock.set_wall_by(by);
      return Outcome::Ok;
    };
    CHECK(night.pass().ending == tuner::Ending::Complete);
    // Local time may have a change of summer time in it: half an hour less strict than it could be.
    CHECK(night.took <= most);
    CHECK(night.took > most * 3 / 4 - 30min);
    REQUIRE(night.listener.notes.size() == 1);
    CHECK(night.listener.notes[0].starts_with("the wall clock was set "));
    CHECK(night.answer.verdict);
    CHECK(night.answer.outcomes.at(Outcome::Ok) == std::ssize(night.listener.outcomes));
  }
}

TEST_CASE("an hour that the machine slept through ends the campaign, with its answer", "[clock]") {
  Night night;
  night.happens = [&](std::size_t count) {
    if (count == 6) night.clock.sleep(12h);
    return Outcome::Ok;
  };
  const auto result = night.pass();
  CHECK(result.ending == tuner::Ending::Complete);
  CHECK(night.took < 90min);
  CHECK(night.answer.verdict);
}

}  // namespace
}  // namespace nocturne::test
