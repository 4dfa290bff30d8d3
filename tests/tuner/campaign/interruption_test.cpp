#include "tuner/campaign/interruption.hpp"

#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "measure/slot.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/tuner/campaign/fake_executor.hpp"
#include "tests/tuner/campaign/manual_clock.hpp"
#include "tuner/campaign/campaign.hpp"

namespace nocturne::tests {
namespace {

using namespace std::chrono_literals;
using tuner::Interruption;

constexpr auto kLong = 60s;

TEST_CASE("finish ends waits, abandon ends what is in flight", "[interruption]") {
  Interruption interruption;
  const auto flight = interruption.token();
  const auto wait = interruption.waiting_token();
  interruption.finish();
  CHECK(interruption.requested());
  CHECK(wait.stop_requested());
  CHECK_FALSE(flight.stop_requested());
  interruption.abandon();
  CHECK(flight.stop_requested());
}

TEST_CASE("a suspension ends what is in flight, and what comes after it gets a fresh token", "[interruption]") {
  Interruption interruption;
  const auto before = interruption.token();
  const auto count = interruption.suspensions();
  CHECK_FALSE(interruption.again_after_suspension(count));  // there was none
  interruption.suspend();
  CHECK(before.stop_requested());
  CHECK(interruption.waiting_token().stop_requested());
  CHECK_FALSE(interruption.requested());
  CHECK_FALSE(interruption.wait_until_at_rest(0ms));
  bool rested = false;
  std::thread signals([&] {
    rested = interruption.wait_until_at_rest(kLong);
    interruption.resume();
  });
  CHECK(interruption.again_after_suspension(count));
  signals.join();
  CHECK(rested);
  CHECK_FALSE(interruption.token().stop_requested());
  CHECK_FALSE(interruption.waiting_token().stop_requested());
  interruption.wait_while_suspended();  // not any more
}

TEST_CASE("ending beats suspending", "[interruption]") {
  Interruption interruption;
  const auto count = interruption.suspensions();
  interruption.suspend();
  bool rested = false;
  std::thread signals([&] {
    rested = interruption.wait_until_at_rest(kLong);
    interruption.abandon();
  });
  CHECK_FALSE(interruption.again_after_suspension(count));
  signals.join();
  CHECK(rested);
  interruption.resume();
  CHECK(interruption.token().stop_requested());
}

struct Numbers final : tuner::Observer {
  std::vector<std::int64_t> numbers;
  std::function<void()> waiting;
  void finished(const space::Trial& trial, bool, const tuner::Standing&) override { numbers.push_back(trial.number); }
  void waiting_for_slot(const measure::SlotHolder&) override { waiting(); }
};

struct Sat {
  Sat() {
    auto parsed = tuner::parse_campaign(R"({
      "campaign": "test", "workload": {"network": "mnist_cnn", "data": "mnist", "optimizer": "adadelta"},
      "objective": {"minimise": "time", "epochs": [1, 12]}, "worker": {"command": ["/bin/true"]},
      "space": {"parameters": [{"name": "threads", "stage": "run", "range": [1, 8], "default": 4}]},
      "strategy": {"name": "random", "seed": 3}, "budget": {"trials": 4},
      "verify": {"pairs": 2, "finalists": 1, "simplify": false, "slices": 2, "slice_steps": 2, "accuracy_epochs": 0}})",
                                        "test.json", "/", space::Facts());
    if (!parsed) FAIL(tuner::to_text(parsed.error()));
    spec.emplace(std::move(*parsed));
  }
  tuner::SittingResult sit() {
    auto store = db::Store::open(folder.path() / "test.db", db::Mode::ReadWrite);
    REQUIRE(store);
    tuner::Sitting sitting{.spec = *spec,
                           .store = *store,
                           .executor = executor,
                           .observer = observer,
                           .clock = clock,
                           .interruption = interruption,
                           .fingerprint_now = {},
                           .slot_folder = folder.path()};
    auto result = tuner::Campaign(sitting, false).run();
    if (!result) FAIL(result.error().message);
    return *result;
  }

  test::TemporaryFolder folder;
  std::optional<tuner::CampaignSpec> spec;
  FakeExecutor executor;
  Numbers observer;
  ManualClock clock;
  Interruption interruption;
};

TEST_CASE("a trial that a suspension cut short is run again, and nothing is lost", "[interruption]") {
  Sat sat;
  std::thread signals;
  bool rested = false;
  sat.executor.fate = [&](std::size_t count, const space::Configuration&) {
    if (count != 1) return space::Outcome::Ok;
    sat.interruption.suspend();
    signals = std::thread([&] {
      rested = sat.interruption.wait_until_at_rest(kLong);
      sat.interruption.resume();
    });
    return space::Outcome::Killed;
  };
  CHECK(sat.sit().ending == tuner::Ending::Complete);
  signals.join();
  CHECK(rested);
  CHECK(sat.observer.numbers == std::vector<std::int64_t>{0, 1, 2, 3});
  CHECK(sat.executor.run_configurations[1] == sat.executor.run_configurations[2]);
  CHECK(sat.executor.run_configurations.size() == 5);
}

TEST_CASE("whoever waits for a slot and is to end, ends", "[interruption]") {
  Sat sat;
  const auto held = measure::SlotLock::try_take({}, "other", sat.folder.path());
  REQUIRE(held);
  sat.observer.waiting = [&] { sat.interruption.finish(); };
  CHECK(sat.sit().ending == tuner::Ending::Interrupted);
  CHECK(sat.observer.numbers.empty());
}

}  // namespace
}  // namespace nocturne::tests
