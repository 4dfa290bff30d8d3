#include "measure/comparison/pair.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <set>

#include "measure/comparison/comparison.hpp"
#include "measure/supervisor/process_tree.hpp"
#include "tests/measure/fake_run.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace nocturne;
using namespace nocturne::measure;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using space::Outcome;

namespace {

PairPlan plan_of(const test::TemporaryFolder& folder, const std::string& a, const std::string& b,
                 const nlohmann::json& configuration = nlohmann::json::object()) {
  PairPlan plan;
  plan.slices = 4;
  plan.total_limit = 60s;
  plan.sides[0].plan = test::fake_plan(folder.path() / "a", a, configuration);
  plan.sides[1].plan = test::fake_plan(folder.path() / "b", b, configuration);
  plan.sides[0].slice_steps = 3;
  plan.sides[1].slice_steps = 2;
  return plan;
}

std::string order_of(const PairResult& result) {
  std::string order;
  for (const Slice& slice : result.slices) order += slice.side == Side::A ? 'A' : 'B';
  return order;
}

void check_nothing_left(const PairPlan& plan) {
  for (const auto& side : plan.sides) CHECK(processes_of_run(side.plan.id).empty());
}

}  // namespace

TEST_CASE("two workers take turns in alternating order", "[pair]") {
  const test::TemporaryFolder folder;
  const PairPlan plan = plan_of(folder, "obey", "obey");
  const PairResult result = run_pair(plan);
  CHECK(result.runs[0].reason == "");
  CHECK(result.runs[1].reason == "");
  CHECK(result.complete());
  CHECK(order_of(result) == "ABBAABBA");
  std::int64_t next[2] = {1, 1};
  for (const Slice& slice : result.slices) {
    const auto side = static_cast<std::size_t>(slice.side);
    CHECK(slice.samples.size() == (slice.side == Side::A ? 3 : 2));
    for (const auto& sample : slice.samples) CHECK(sample.first_step == next[side]++);
  }
  CHECK(result.runs[0].samples.size() == 12);
  CHECK(result.runs[1].samples.size() == 8);
  CHECK_THAT(result.runs[0].command, ContainsSubstring("request-alone.json"));
  check_nothing_left(plan);
}

TEST_CASE("a worker that reads no turns is stopped by signal, and the sample across the stop is dropped", "[pair]") {
  const test::TemporaryFolder folder;
  PairPlan plan = plan_of(folder, "obey", "obey", {{"step_us", 2000}});
  for (auto& side : plan.sides) {
    side.mode = TurnMode::Signal;
    side.plan.request.steps = 100'000;
  }
  const PairResult result = run_pair(plan);
  CHECK(result.runs[0].reason == "");
  CHECK(result.complete());
  CHECK(order_of(result) == "ABBAABBA");
  for (const auto side : {Side::A, Side::B}) {
    std::set<std::int64_t> seen;
    std::int64_t last = 0;
    std::size_t gaps = 0;
    for (const Slice& slice : result.slices) {
      if (slice.side != side) continue;
      CHECK(slice.samples.size() >= (side == Side::A ? 3u : 2u));
      if (slice.samples.front().first_step > last + 1) ++gaps;
      for (const auto& sample : slice.samples) CHECK(seen.insert(sample.first_step).second);
      last = slice.samples.back().first_step;
    }
    CHECK(gaps >= 3);  // the sample that was under way at each stop
    // A sample across a stop would hold the other side's turn: several steps, so at least 4 ms.
    for (const auto& sample : result.runs[static_cast<std::size_t>(side)].samples) CHECK(sample.first_step >= 1);
  }
  check_nothing_left(plan);
}

TEST_CASE("when one side dies the other is ended and says why", "[pair]") {
  const test::TemporaryFolder folder;
  const PairPlan plan = plan_of(folder, "obey", "crash_in_turn", {{"turn", 3}});
  const PairResult result = run_pair(plan);
  CHECK_FALSE(result.complete());
  CHECK(result.runs[1].outcome == Outcome::Crashed);
  CHECK(result.runs[0].outcome == Outcome::Killed);
  CHECK_THAT(result.runs[0].reason, ContainsSubstring("its partner in the pair: crashed: SIGSEGV"));
  CHECK(result.runs[0].exit_code == 0);  // told that no more steps follow, it ended by itself
  CHECK(order_of(result) == "ABBAA");
  check_nothing_left(plan);
}

TEST_CASE("a side that has no more steps is judged by the turns that it had, where they are enough", "[pair]") {
  const test::TemporaryFolder folder;
  PairPlan plan = plan_of(folder, "obey", "end_in_turn", {{"turn", 5}});
  plan.slices = 8;
  PairResult result = run_pair(plan);
  CHECK(result.runs[0].reason == "");
  CHECK(result.runs[1].reason == "");
  CHECK(result.complete());
  CHECK(result.wanted == 4);
  CHECK(order_of(result) == "ABBAABBA");  // of its fifth block side A had its turn
  check_nothing_left(plan);

  const test::TemporaryFolder second;
  plan = plan_of(second, "end_in_turn", "obey", {{"turn", 5}});
  plan.slices = 9;  // fewer than half
  result = run_pair(plan);
  CHECK_FALSE(result.complete());
  CHECK(result.runs[0].outcome == Outcome::Failed);
  CHECK_THAT(result.runs[0].reason, ContainsSubstring("ended by itself after 4 of 9 slices"));
  CHECK(result.runs[1].outcome == Outcome::Killed);

  const test::TemporaryFolder third;
  plan = plan_of(third, "obey", "end_in_turn", {{"turn", 4}});  // too few to tell a warm-up
  CHECK_FALSE(run_pair(plan).complete());
  check_nothing_left(plan);
}

TEST_CASE("a side that never gets ready ends the pair before the other begins", "[pair]") {
  const test::TemporaryFolder folder;
  PairPlan plan = plan_of(folder, "unsupported", "obey");
  PairResult result = run_pair(plan);
  CHECK(result.runs[0].outcome == Outcome::Unsupported);
  CHECK(result.runs[1].outcome == Outcome::Killed);
  CHECK(result.runs[1].id == plan.sides[1].plan.id);
  const test::TemporaryFolder second;
  plan = plan_of(second, "obey", "hang");
  plan.sides[1].plan.deadline = 150ms;
  result = run_pair(plan);
  CHECK(result.runs[1].outcome == Outcome::Timeout);
  CHECK(result.runs[0].outcome == Outcome::Killed);
  check_nothing_left(plan);
}

TEST_CASE("a worker that takes more than its turn breaks the protocol", "[pair]") {
  const test::TemporaryFolder folder;
  const PairPlan greedy = plan_of(folder, "greedy", "obey");
  const PairResult first = run_pair(greedy);
  CHECK(first.runs[0].outcome == Outcome::ProtocolError);
  check_nothing_left(greedy);
  const test::TemporaryFolder second;
  PairPlan deaf = plan_of(second, "obey", "ignore_turns", {{"step_us", 2000}});
  deaf.sides[1].plan.request.steps = 100'000;
  const PairResult result = run_pair(deaf);
  CHECK(result.runs[1].outcome == Outcome::ProtocolError);
  CHECK(result.runs[0].outcome == Outcome::Killed);
  check_nothing_left(deaf);
}

TEST_CASE("a pair has a limit in all and can be interrupted", "[pair]") {
  const test::TemporaryFolder folder;
  PairPlan plan = plan_of(folder, "obey", "obey", {{"step_us", 20'000}});
  plan.slices = 10'000;
  plan.total_limit = 500ms;
  const PairResult late = run_pair(plan);
  CHECK((late.runs[0].outcome == Outcome::Timeout) != (late.runs[1].outcome == Outcome::Timeout));
  check_nothing_left(plan);

  const test::TemporaryFolder second;
  plan = plan_of(second, "obey", "obey");
  plan.slices = 10'000;
  std::stop_source stop;
  PairControl control;
  control.stop = stop.get_token();
  control.progress = [&](std::size_t slices) {
    if (slices == 5) stop.request_stop();
  };
  const PairResult interrupted = run_pair(plan, control);
  CHECK(interrupted.slices.size() == 5);
  for (const auto& run : interrupted.runs) {
    CHECK(run.outcome == Outcome::Killed);
    CHECK(run.reason == "interrupted");
  }
  check_nothing_left(plan);
}

TEST_CASE("workers timed as a whole run one after the other, each a slice of its own", "[pair]") {
  const test::TemporaryFolder folder;
  PairPlan plan = plan_of(folder, "obey", "obey", {{"step_us", 20'000}});
  for (auto& side : plan.sides) side.mode = TurnMode::Whole;
  const PairResult result = run_pair(plan);
  CHECK(result.complete());
  CHECK(order_of(result) == "AB");
  CHECK(result.slices[0].samples.size() == 10);
  // Two clocks: that of the day may have been corrected meanwhile.
  CHECK(result.runs[0].started_unix_ns + result.runs[0].wall.count() <= result.runs[1].started_unix_ns + 100'000'000);
  CHECK(log_ratios(result, {}, {}, std::vector{1.0}).has_value());
  check_nothing_left(plan);
}

TEST_CASE("a side timed as a whole that fails leaves the other unmeasured", "[pair]") {
  const test::TemporaryFolder folder;
  PairPlan plan = plan_of(folder, "exit", "obey");
  for (auto& side : plan.sides) side.mode = TurnMode::Whole;
  const PairResult result = run_pair(plan);
  CHECK(!result.complete());
  CHECK(result.runs[0].outcome == Outcome::Failed);
  CHECK(result.runs[1].outcome == Outcome::Killed);
  CHECK_THAT(result.runs[1].reason, ContainsSubstring("its partner in the pair: failed"));
}
