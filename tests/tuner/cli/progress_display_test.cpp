#include "tuner/cli/measuring/progress_display.hpp"

#include <chrono>
#include <optional>
#include <sstream>
#include <thread>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace nocturne;
using Catch::Matchers::ContainsSubstring;

namespace {

struct WatchedDisplay {
  WatchedDisplay() {
    context.err = &err;
    context.out = &err;
  }
  /// On a terminal that is so wide.
  explicit WatchedDisplay(std::size_t columns) : WatchedDisplay() {
    context.err_is_terminal = true;
    context.columns = columns;
  }
  std::ostringstream err;
  cli::Context context;
};

space::Trial trial(std::int64_t number, double seconds) {
  space::Trial done;
  done.number = number;
  done.outcome = space::Outcome::Ok;
  done.estimate = space::Estimate{.value = seconds, .standard_error = 0.01, .runs = 1};
  done.configuration.set("threads", number);
  return done;
}

}  // namespace

TEST_CASE("a trial is marked as the best where that is more than noise, and no other", "[cli]") {
  WatchedDisplay watched;
  cli::ProgressDisplay display(watched.context);
  display.finished(trial(0, 10), false, {.best = trial(0, 10), .is_new_best = true});
  display.finished(trial(1, 9.9), false, {.best = trial(1, 9.9)});
  display.finished(trial(2, 5), false, {.best = trial(2, 5), .is_new_best = true});
  CHECK(watched.err.str() ==
        "trial    0     10.0 s       the default\n"
        "trial    1     9.90 s       threads=1\n"
        "trial    2     5.00 s best  threads=2\n");
}

TEST_CASE("a trial's line has what the default has not, declared or not", "[cli]") {
  WatchedDisplay watched;
  tuner::DefaultSettings defaults(nlohmann::json::parse(R"({"space": {"parameters": []}})"), {});
  space::Configuration first;
  first.set("threads", std::int64_t{3});
  defaults.know(first);
  cli::ProgressDisplay display(watched.context, nullptr, std::move(defaults));
  display.finished(trial(3, 10), false, {.best = trial(3, 10)});
  CHECK_THAT(watched.err.str(), !ContainsSubstring("threads=3"));
  display.finished(trial(4, 10), false, {.best = trial(3, 10)});
  CHECK_THAT(watched.err.str(), ContainsSubstring("threads=4"));
}

TEST_CASE("a campaign's first lines say what it does, and what its times are", "[cli]") {
  WatchedDisplay watched;
  cli::ProgressDisplay display(watched.context);
  display.opened({.campaign = "mnist", .strategy = "auto", .epochs = 12});
  CHECK(watched.err.str() ==
        "It begins: nothing is known of it yet (search strategy auto, seed 1).\n"
        "Each trial trains some steps with other settings; its time is what 12 epochs would take.\n");
  watched.err.str("");
  display.opened(
      {.campaign = "mnist", .resumed = true, .trials_known = 7, .strategy = "auto", .times_processes = true});
  CHECK_THAT(watched.err.str(), ContainsSubstring("Continuing after 7 finished trials") &&
                                    ContainsSubstring("its time is that of the whole process"));
}

namespace {

/// A clock that a test moves.
struct HandClock {
  std::chrono::system_clock::time_point now{std::chrono::hours(24 * 365 * 50)};
  cli::ProgressDisplay display(WatchedDisplay& watched) {
    return cli::ProgressDisplay(watched.context, nullptr, {}, [this] { return now; });
  }
};

constexpr auto kMinute = std::chrono::minutes(1);

}  // namespace

TEST_CASE("on a terminal the line has the time of day, what is left of the budget and the best so far", "[cli]") {
  WatchedDisplay watched(200);
  HandClock clock;
  auto display = clock.display(watched);
  display.running(0, {});
  CHECK_THAT(watched.err.str(), Catch::Matchers::Matches("[0-9]{2}:[0-9]{2}  trial 0: .*"));
  watched.err.str("");
  display.finished(
      trial(0, 10), false,
      {.finished = 1, .baseline = trial(0, 10), .best = trial(0, 10), .elapsed = kMinute, .left = 3 * kMinute});
  clock.now += kMinute;
  display.running(1, {});
  CHECK_THAT(watched.err.str(),
             ContainsSubstring(", 50 %, 2 min 00 s left, 1 done, best 10.0 s (1.00 x default)  trial 1: "));
  watched.err.str("");
  clock.now += 30 * kMinute;
  display.slot_taken(30 * kMinute);  // another campaign had it: none of the budget
  display.running(2, {});
  CHECK_THAT(watched.err.str(), ContainsSubstring(", 50 %, 2 min 00 s left, 1 done"));
}

TEST_CASE("on a terminal what a run does stands before its settings, and is what the finals do after the search",
          "[cli]") {
  WatchedDisplay watched(200);
  HandClock clock;
  auto display = clock.display(watched);
  display.running(7, trial(7, 1).configuration);
  display.progress({.steps = 40});
  CHECK_THAT(watched.err.str(), ContainsSubstring("  trial 7 [step 40]: threads=7"));
  watched.err.str("");
  display.search_ended("the search ended");
  display.progress({.steps = 3});
  CHECK_THAT(watched.err.str(), ContainsSubstring("  judging the best [step 3]") && !ContainsSubstring("threads=7"));
  watched.err.str("");
  display.chosen(trial(4, 1));
  display.progress({.phase = "data"});
  CHECK_THAT(watched.err.str(), ContainsSubstring("  judging trial 4 [data]"));
  watched.err.str("");
  display.verifying(1, 5);
  display.progress({.steps = 9});
  CHECK_THAT(watched.err.str(), ContainsSubstring("  pair 2 of 5 [step 9]"));
}

TEST_CASE("on a terminal a pair, which says nothing of itself, shows for how long it goes on, and not while it waits",
          "[cli]") {
  WatchedDisplay watched(200);
  constexpr auto kASecond = std::chrono::milliseconds(1300);
  cli::ProgressDisplay display(watched.context);
  display.verifying(0, 3);
  std::this_thread::sleep_for(kASecond);
  display.waiting_for_slot({});
  CHECK_THAT(watched.err.str(), ContainsSubstring("  pair 1 of 3, for 1"));
  watched.err.str("");
  std::this_thread::sleep_for(kASecond);
  CHECK(watched.err.str().empty());
  display.slot_taken(kASecond);
  std::this_thread::sleep_for(kASecond);
  display.pair_finished(1, 3, std::nullopt);
  CHECK_THAT(watched.err.str(), ContainsSubstring("  pair 1 of 3, for 1"));
  watched.err.str("");
  std::this_thread::sleep_for(kASecond);
  CHECK(watched.err.str().empty());
}

TEST_CASE("in a log a trial that takes long has a line a minute", "[cli]") {
  WatchedDisplay watched;
  HandClock clock;
  auto display = clock.display(watched);
  display.running(3, {});
  display.progress({.steps = 7});
  CHECK(watched.err.str().empty());
  clock.now += kMinute;
  display.progress({.steps = 40});
  CHECK_THAT(watched.err.str(), Catch::Matchers::EndsWith("  trial 3 [step 40]: default\n"));
  watched.err.str("");
  clock.now += kMinute / 2;
  display.progress({.steps = 60});
  CHECK(watched.err.str().empty());
}

TEST_CASE("on a terminal a long line goes on below, in a log it stays one line", "[cli]") {
  WatchedDisplay watched;
  watched.context.columns = 40;
  cli::ProgressDisplay display(watched.context);
  display.note("a sentence that is longer than the terminal is wide");
  CHECK(watched.err.str() == "a sentence that is longer than the terminal is wide\n");
  watched.err.str("");
  watched.context.err_is_terminal = true;
  display.note("a sentence that is longer than the terminal is wide");
  CHECK(watched.err.str() == "a sentence that is longer than the\nterminal is wide\n");
}
