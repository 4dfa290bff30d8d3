#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <fstream>

#include "measure/run/runner.hpp"
#include "measure/supervisor/cgroup.hpp"
#include "measure/supervisor/memory_watch.hpp"
#include "measure/supervisor/process_tree.hpp"
#include "tests/measure/fake_run.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace nocturne;
using namespace nocturne::measure;
using Catch::Matchers::ContainsSubstring;
using space::Outcome;

namespace {

constexpr std::int64_t kMebi = 1 << 20;

nlohmann::json result_of(const RunPlan& plan) {
  std::ifstream file(plan.folder / "result.json");
  return nlohmann::json::parse(file);
}

bool control_group_can_limit() {
  const auto group = Cgroup::create(ProcessIdentity::of_this_process().to_text(), 64 * kMebi, cgroup_parents());
  return group && group->limits_memory();
}

}  // namespace

TEST_CASE("polling ends a worker that eats memory, with evidence", "[memory]") {
  const test::TemporaryFolder folder;
  RunPlan plan = test::fake_plan(folder.path(), "eat_memory", {{"bytes", 400 * kMebi}});
  plan.memory_limit_bytes = 100 * kMebi;
  RunControl control;
  control.use_cgroup = false;
  const space::Run run = measure::run(plan, control);
  CHECK(run.outcome == Outcome::OutOfMemory);
  CHECK_THAT(run.reason, ContainsSubstring("the limit is 100 MiB"));
  CHECK_THAT(run.reason, ContainsSubstring("in phase 'data'"));
  CHECK(result_of(plan)["limited_by"] == "polling");
  CHECK(run.memory.value().peak_rss_bytes > 100 * kMebi);
  CHECK(processes_of_run(plan.id).empty());
}

TEST_CASE("the limit holds for all processes of a worker together", "[memory]") {
  const test::TemporaryFolder folder;
  RunPlan plan = test::fake_plan(folder.path(), "eat_memory", {{"bytes", 160 * kMebi}, {"processes", 4}});
  plan.memory_limit_bytes = 100 * kMebi;
  RunControl control;
  control.use_cgroup = false;
  CHECK(measure::run(plan, control).outcome == Outcome::OutOfMemory);
}

TEST_CASE("a worker within its limit is left alone", "[memory]") {
  const test::TemporaryFolder folder;
  RunPlan plan = test::fake_plan(folder.path(), "eat_memory", {{"bytes", 40 * kMebi}});
  plan.memory_limit_bytes = 300 * kMebi;
  RunControl control;
  control.use_cgroup = false;
  const auto has_come_to_data = [](const space::Run& each) { return !each.phases.empty(); };
  const space::Run run = test::run_until_deadline(plan, control, has_come_to_data);
  CHECK(run.outcome == Outcome::Timeout);
  CHECK_THAT(run.reason, ContainsSubstring("in phase 'data'"));
}

TEST_CASE("a control group ends a worker that eats memory, with evidence", "[memory]") {
  if (!control_group_can_limit()) SKIP("no control group of version 2 with the memory controller can be made here");
  const test::TemporaryFolder folder;
  RunPlan plan = test::fake_plan(folder.path(), "eat_memory", {{"bytes", 400 * kMebi}});
  plan.memory_limit_bytes = 100 * kMebi;
  const space::Run run = measure::run(plan);
  CHECK(run.outcome == Outcome::OutOfMemory);
  CHECK_THAT(run.reason, ContainsSubstring("control group's limit of 100 MiB"));
  CHECK(result_of(plan)["limited_by"] == "cgroup");
}

TEST_CASE("without a limit nothing is polled and nothing is blamed on memory", "[memory]") {
  const test::TemporaryFolder folder;
  RunPlan plan = test::fake_plan(folder.path(), "crash", {{"signal", SIGKILL}});
  const space::Run run = measure::run(plan);
  CHECK(run.outcome == Outcome::Crashed);
  CHECK(result_of(plan)["limited_by"] == "");
}

TEST_CASE("memory that processes share is counted once", "[memory]") {
  constexpr std::size_t kBytes = 64 << 20;
  void* shared = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(shared != MAP_FAILED);
  std::memset(shared, 1, kBytes);
  std::array<int, 2> ready{}, end{};
  REQUIRE(::pipe(ready.data()) == 0);
  REQUIRE(::pipe(end.data()) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(end[1]);
    char byte = 0;
    for (std::size_t at = 0; at < kBytes; at += 4096) byte = static_cast<char>(byte + static_cast<char*>(shared)[at]);
    (void)!::write(ready[1], &byte, 1);
    (void)!::read(end[0], &byte, 1);  // until the parent closes its end
    ::_exit(0);
  }
  char byte = 0;
  REQUIRE(::read(ready[0], &byte, 1) == 1);
  const std::array<pid_t, 2> both{::getpid(), child};
  const auto bound = memory_upper_bound_bytes(both);
  const auto exact = memory_proportional_bytes(both);
  CHECK(bound >= 2 * 64 * kMebi);
  CHECK(exact >= 64 * kMebi);
  CHECK(exact < bound - 50 * kMebi);
  ::close(end[1]);
  ::waitpid(child, nullptr, 0);
  ::munmap(shared, kBytes);
  for (const int file : {ready[0], ready[1], end[0]}) ::close(file);
}

TEST_CASE("polling is rare far from the limit", "[memory]") {
  const std::array<pid_t, 1> self{::getpid()};
  MemoryWatch far(std::int64_t{1} << 40);
  CHECK_FALSE(far.check(self));
  CHECK(far.pause() == std::chrono::milliseconds(250));
  MemoryWatch beyond(1);
  CHECK(beyond.check(self));
  CHECK(beyond.pause() == std::chrono::milliseconds(10));
  CHECK(bytes_text(1536 * kMebi) == "1.5 GiB");
}
