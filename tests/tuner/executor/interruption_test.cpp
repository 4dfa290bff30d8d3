#include "tuner/executor/interruption.hpp"

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "measure/run/slot.hpp"
#include "tests/tuner/campaign/campaign_fixture.hpp"
#include "tests/tuner/campaign/manual_clock.hpp"
#include "tuner/campaign_file/quantity.hpp"

namespace nocturne::test {
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

TEST_CASE("whatever is asked for first cuts what is prepared", "[interruption]") {
  for (const auto ask : {&Interruption::finish, &Interruption::abandon, &Interruption::suspend}) {
    Interruption interruption;
    const Interruption::Preparation preparation(interruption);
    CHECK_FALSE(preparation.token().stop_requested());
    (interruption.*ask)();
    CHECK(preparation.token().stop_requested());
    CHECK_FALSE(interruption.out_of_time());
    interruption.resume();
    CHECK(Interruption::Preparation(interruption).token().stop_requested() == interruption.requested());
  }
}

TEST_CASE("what is prepared is cut where its time is over, and nothing else is", "[interruption]") {
  Interruption interruption;
  const auto flight = interruption.token();
  const auto wait = interruption.waiting_token();
  const auto now = std::chrono::steady_clock::now;
  interruption.prepare_until(now() + 5ms, 0s);
  {
    const Interruption::Preparation preparation(interruption);
    const auto patience = now() + kLong;
    while (!preparation.token().stop_requested() && now() < patience) std::this_thread::yield();
  }
  CHECK(interruption.out_of_time());
  CHECK(interruption.preparation_time() == 0s);
  CHECK_FALSE(interruption.requested());
  CHECK_FALSE(flight.stop_requested());
  CHECK_FALSE(wait.stop_requested());
  // Until there is another time.
  CHECK(Interruption::Preparation(interruption).token().stop_requested());
  interruption.suspend();
  interruption.resume();
  CHECK(Interruption::Preparation(interruption).token().stop_requested());
  interruption.prepare_until(now() + 1h);
  CHECK_FALSE(interruption.out_of_time());
  CHECK(interruption.preparation_time() > 59min);
  CHECK_FALSE(Interruption::Preparation(interruption).token().stop_requested());
  // However late it is, what is there is looked for.
  interruption.prepare_until(now() - 1h);
  CHECK(interruption.preparation_time() == Interruption::kLookingTime);
  CHECK_FALSE(Interruption::Preparation(interruption).token().stop_requested());
  interruption.prepare_until({});
  CHECK_FALSE(interruption.preparation_time());
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
  const auto flight = interruption.begin();  // waits for the end of the suspension
  signals.join();
  CHECK(rested);
  CHECK_FALSE(interruption.token().stop_requested());
  CHECK_FALSE(interruption.waiting_token().stop_requested());
}

TEST_CASE("nobody is at rest while anything is in flight", "[interruption]") {
  Interruption interruption;
  auto slow = std::make_unique<Interruption::Flight>(interruption.begin());
  interruption.suspend();
  std::thread campaign([&] { static_cast<void>(interruption.begin()); });
  CHECK_FALSE(interruption.wait_until_at_rest(20ms));  // the campaign rests, but the other one still flies
  CHECK(interruption.in_flight());
  slow.reset();
  CHECK(interruption.wait_until_at_rest(kLong));
  CHECK_FALSE(interruption.in_flight());
  interruption.resume();
  campaign.join();
  CHECK_FALSE(interruption.in_flight());
}

TEST_CASE("a flight that moves is counted once", "[interruption]") {
  Interruption interruption;
  {
    auto first = interruption.begin();
    const auto second = std::move(first);
    CHECK(interruption.in_flight());
  }
  CHECK_FALSE(interruption.in_flight());
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
  static_cast<void>(interruption.begin());  // ends with the suspension
  CHECK_FALSE(interruption.again_after_suspension(count));
  signals.join();
  CHECK(rested);
  interruption.resume();
  CHECK(interruption.token().stop_requested());
}

struct Sat : CampaignFolder, SessionFixture<ManualClock> {
  Sat() : SessionFixture(static_cast<const CampaignFolder&>(*this)) {
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
  tuner::SessionResult sit() {
    return with_session(*spec, [](tuner::Session& session) { return tuner::Campaign(session, false).run(); });
  }
  [[nodiscard]] std::size_t complete_pairs() const {
    const db::Store store = reading();
    const auto comparisons = store.comparisons(store.find_campaign("test").value().id);
    std::size_t pairs = 0;
    for (const auto& each : comparisons) pairs += each.pairs.size();
    return pairs;
  }

  std::optional<tuner::CampaignSpec> spec;
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
  CHECK(sat.watcher.numbers == std::vector<std::int64_t>{0, 1, 2, 3});
  CHECK(sat.executor.run_configurations[1] == sat.executor.run_configurations[2]);
  CHECK(sat.executor.run_configurations.size() == 5);
}

/// Suspends, and resumes as soon as the campaign is at rest.
struct Nap {
  explicit Nap(Sat& sat) {
    sat.interruption.suspend();
    waker = std::thread([this, &sat] {
      rested = sat.interruption.wait_until_at_rest(kLong);
      slot_was_free = measure::SlotLock::try_take({}, "other", sat.folder.path()).has_value();
      sat.interruption.resume();
    });
  }
  ~Nap() {
    waker.join();
    CHECK(rested);
    CHECK(slot_was_free);
  }
  std::thread waker;
  bool rested = false, slot_was_free = false;
};

TEST_CASE("a pair that a suspension cut short is measured again and is no failure", "[interruption]") {
  Sat sat;
  std::list<Nap> naps;
  sat.executor.step_seconds = [](const space::Configuration& configuration) {
    return space::to_text(*configuration.find("threads")) == "4" ? 0.05 : 0.04;
  };
  sat.executor.while_in_turns = [&] {
    if (naps.size() < 5) naps.emplace_back(sat);
  };
  CHECK(sat.sit().ending == tuner::Ending::Complete);
  CHECK(naps.size() == 5);
  CHECK(sat.executor.pairs == 5 + 2);
  CHECK(sat.complete_pairs() == 2);
}

TEST_CASE("a suspension leaves no finalist out, whatever it interrupts in the finals", "[interruption]") {
  Sat sat;
  std::list<Nap> naps;
  sat.executor.step_seconds = [](const space::Configuration& configuration) {
    return space::to_text(*configuration.find("threads")) == "4" ? 0.05 : 0.04;
  };
  bool again = false;
  sat.executor.while_preparing = [&] {
    if (sat.watcher.numbers.size() < 4) return;
    again = !again;  // each time the first try is in vain
    if (again) naps.emplace_back(sat);
  };
  CHECK(sat.sit().ending == tuner::Ending::Complete);
  CHECK(naps.size() >= 2);
  CHECK(sat.complete_pairs() == 2);
}

TEST_CASE("whoever waits for a slot and is to end, ends", "[interruption]") {
  Sat sat;
  const auto held = measure::SlotLock::try_take({}, "other", sat.folder.path());
  REQUIRE(held);
  sat.watcher.waiting = [&] { sat.interruption.finish(); };
  CHECK(sat.sit().ending == tuner::Ending::Interrupted);
  CHECK(sat.watcher.numbers.empty());
}

TEST_CASE("waiting for another campaign is none of --wall, and with --until it is", "[interruption]") {
  using namespace std::chrono_literals;
  const tuner::SystemClock system;
  const tuner::CampaignClock clock(system);
  Sat sat;
  sat.spec->budget.wall = 2s;
  auto until = GENERATE(false, true);
  if (until) sat.spec->budget.until = tuner::parse_time_of_day("12:00").value();
  auto held = measure::SlotLock::try_take({}, "other", sat.folder.path());
  REQUIRE(held);
  std::jthread other([&held] {
    std::this_thread::sleep_for(3s);
    held = std::unexpected(measure::SlotLock::Refusal{});
  });
  const auto result = sat.with_session(*sat.spec, [&](tuner::Session& session) {
    tuner::Session own{.spec = session.spec,
                       .store = session.store,
                       .executor = session.executor,
                       .observer = session.observer,
                       .clock = clock,
                       .interruption = session.interruption,
                       .fingerprint_now = session.fingerprint_now,
                       .fingerprint = session.fingerprint,
                       .slot_folder = session.slot_folder};
    return tuner::Campaign(own, false).run();
  });
  CHECK(result.ending == tuner::Ending::Complete);
  CHECK((clock.stood_still() > 2s) == !until);
  CHECK((sat.watcher.numbers.size() == 4) == !until);
}

}  // namespace
}  // namespace nocturne::test
