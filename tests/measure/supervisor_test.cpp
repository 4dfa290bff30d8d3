// What outlives whom: tuner, supervisor, worker and its descendants, each killed in turn.

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <algorithm>
#include <fstream>
#include <optional>
#include <vector>

#include "measure/run/runner.hpp"
#include "measure/run/sweep.hpp"
#include "measure/supervisor/client.hpp"
#include "measure/supervisor/process_tree.hpp"
#include "tests/measure/fake_run.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace nocturne;
using namespace nocturne::measure;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using space::Outcome;

namespace {

// A tuner of its own: a process that does nothing but run this plan.
pid_t fork_tuner(const RunPlan& plan) {
  const pid_t tuner = ::fork();
  if (tuner == 0) {
    RunControl control;
    control.use_cgroup = false;  // a control group would hide what the supervisor forgets
    (void)measure::run(plan, control);
    ::_exit(0);
  }
  return tuner;
}

pid_t supervisor_of(const RunPlan& plan) {
  for (const auto& process : tagged_processes()) {
    if (process.run_id != plan.id) continue;
    if (const auto supervisor = ProcessIdentity::from_text(process.supervisor)) return supervisor->pid;
  }
  return 0;
}

SuperviseSpec lingering_spec(const std::filesystem::path& folder) {
  SuperviseSpec spec;
  spec.run_id = new_run_id();
  spec.folder = folder.string();
  spec.argv = {NOCTURNE_FAKE_WORKER, "--linger"};
  spec.deadline = 10 * test::kPatience;  // but where a test is about it, nothing waits for that
  spec.grace = 50ms;
  return spec;
}

}  // namespace

TEST_CASE("nothing outlives a killed tuner", "[supervisor]") {
  const test::TemporaryFolder folder;
  RunPlan plan = test::fake_plan(folder.path(), "orphan_hang");
  plan.deadline = 10 * test::kPatience;  // nothing here waits for that
  const pid_t tuner = fork_tuner(plan);
  pid_t orphan = 0;
  REQUIRE(test::comes_true([&] { return (orphan = test::pid_in(plan.folder / "orphan.pid")) != 0; }));
  REQUIRE(test::comes_true([&] { return !processes_of_run(plan.id).empty(); }));
  const pid_t supervisor = supervisor_of(plan);
  REQUIRE(supervisor > 0);

  ::kill(tuner, SIGKILL);
  const auto gone = [&] {
    return processes_of_run(plan.id).empty() && !test::process_runs(orphan) && !test::process_runs(supervisor);
  };
  CHECK(test::comes_true(gone));
  ::waitpid(tuner, nullptr, 0);
  std::ifstream file(plan.folder / "result.json");
  const auto result = nlohmann::json::parse(file);
  CHECK(result["killed"] == true);
  CHECK(result["killed_reason"] == "the tuner ended");
}

TEST_CASE("a killed supervisor takes its worker along and the run is killed, not failed", "[supervisor]") {
  const test::TemporaryFolder folder;
  const RunPlan plan = test::fake_plan(folder.path(), "grandchildren", {{"step_us", 1'000'000}});
  RunControl control;
  std::vector<pid_t> seen;
  control.progress = [&](const RunProgress& progress) {
    if (progress.phase != "first_step" && progress.samples == 0) return;
    seen = processes_of_run(plan.id);
    ::kill(supervisor_of(plan), SIGKILL);
    control.progress = {};
  };
  const space::Run run = measure::run(plan, control);
  CHECK(run.outcome == Outcome::Killed);
  CHECK_THAT(run.reason, ContainsSubstring("supervisor was killed"));
  CHECK(seen.size() == 10);
  CHECK(processes_of_run(plan.id).empty());
}

TEST_CASE("a sweep ends what a dead supervisor left and nothing of a living one", "[supervisor]") {
  const test::TemporaryFolder living_folder;
  auto living = SupervisedWorker::start(lingering_spec(living_folder.path()), find_supervisor());
  REQUIRE(living);
  // As if its supervisor and its tuner had been killed at once: a stray with the marks of a process that is no more.
  const ProcessIdentity gone = test::process_that_is_gone();
  bool by_us = false;
  for (int round = 0; round < 10 && !by_us; ++round) {  // a tuner beside this test may sweep it first
    const std::string id = new_run_id();
    const pid_t stray = ::fork();
    if (stray == 0) {
      ::setenv(kRunIdVariable, id.c_str(), 1);
      ::setenv(kSupervisorVariable, gone.to_text().c_str(), 1);
      ::execl(NOCTURNE_FAKE_WORKER, NOCTURNE_FAKE_WORKER, "--linger", nullptr);
      ::_exit(1);
    }
    const auto has_ended = [&] {
      siginfo_t info{};
      return ::waitid(P_PID, static_cast<id_t>(stray), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == stray;
    };
    REQUIRE(test::comes_true([&] { return processes_of_run(id).size() == 1 || has_ended(); }));
    const SweepReport report = sweep();
    int status = 0;
    CHECK(::waitpid(stray, &status, 0) == stray);
    CHECK(WTERMSIG(status) == SIGKILL);
    by_us = std::ranges::find(report.runs, id) != report.runs.end();
  }
  CHECK(by_us);
  living->wait(0ms);
  CHECK_FALSE(living->finished());
}

TEST_CASE("an identity outlives no process", "[supervisor]") {
  const ProcessIdentity self = ProcessIdentity::of_this_process();
  CHECK(self.alive());
  CHECK(ProcessIdentity::from_text(self.to_text()) == self);
  ProcessIdentity recycled = self;
  recycled.start_ticks += 1;
  CHECK_FALSE(recycled.alive());
  ProcessIdentity elsewhere = recycled;
  elsewhere.pid_namespace += 1;
  CHECK(elsewhere.alive());  // another namespace's process is not judged
  CHECK_FALSE(ProcessIdentity::from_text("12"));
  CHECK_FALSE(ProcessIdentity::from_text("a-b-c"));
}

namespace {

// Stops a worker for longer than its deadline, and continues it. Empty: the machine was so busy that most of the
// deadline had passed before it was stopped.
std::optional<SuperviseResult> stopped_beyond(std::chrono::milliseconds deadline) {
  const test::TemporaryFolder folder;
  SuperviseSpec spec = lingering_spec(folder.path());
  spec.deadline = deadline;
  spec.use_cgroup = false;
  // Polled: the supervisor looks at its limits during the stop as well.
  spec.memory_limit_bytes = std::int64_t{1} << 40;
  const auto begun = std::chrono::steady_clock::now();
  auto supervised = SupervisedWorker::start(spec, find_supervisor());
  REQUIRE(supervised);
  const auto happens = [&](auto condition) {
    return test::comes_true([&] {
      supervised->wait(5ms);
      return supervised->finished() || condition();
    });
  };
  std::vector<pid_t> worker;
  REQUIRE(happens([&] { return (worker = processes_of_run(spec.run_id)).size() == 1; }));
  supervised->stop();
  REQUIRE(happens([&] { return supervised->stopped(); }));
  if (std::chrono::steady_clock::now() - begun > deadline / 2) return std::nullopt;
  CHECK(test::process_state(worker.front()) == 'T');
  const auto pause = std::chrono::steady_clock::now() + deadline + 100ms;
  while (std::chrono::steady_clock::now() < pause) supervised->wait(50ms);
  CHECK_FALSE(supervised->finished());
  supervised->resume();
  REQUIRE(happens([&] { return supervised->finished(); }));
  return supervised->result();
}

}  // namespace

TEST_CASE("a worker is stopped and continued, and its deadline waits meanwhile", "[supervisor]") {
  for (const std::chrono::milliseconds deadline : test::kDeadlines) {
    const auto result = stopped_beyond(deadline);
    if (!result) continue;
    CHECK(result->timed_out);
    CHECK(result->wall >= 2 * deadline);
    return;
  }
  FAIL("it could not be stopped in time");
}

TEST_CASE("a supervised worker that is let go is ended", "[supervisor]") {
  const test::TemporaryFolder folder;
  const SuperviseSpec spec = lingering_spec(folder.path());
  {
    auto supervised = SupervisedWorker::start(spec, find_supervisor());
    REQUIRE(supervised);
    REQUIRE(test::comes_true([&] { return processes_of_run(spec.run_id).size() == 1; }));
    REQUIRE(::kill(supervised->supervisor_pid(), SIGSTOP) == 0);  // even so
  }
  CHECK(processes_of_run(spec.run_id).empty());
}

TEST_CASE("a supervisor that does not answer a kill is killed, and its worker with it", "[supervisor]") {
  const test::TemporaryFolder folder;
  SuperviseSpec spec = lingering_spec(folder.path());
  spec.grace = 50ms;
  spec.last_resort = 200ms;
  auto supervised = SupervisedWorker::start(spec, find_supervisor());
  REQUIRE(supervised);
  REQUIRE(test::comes_true([&] { return processes_of_run(spec.run_id).size() == 1; }));
  REQUIRE(::kill(supervised->supervisor_pid(), SIGSTOP) == 0);
  supervised->kill("the test wants it");
  const auto finished = [&] {
    supervised->wait(5ms);
    return supervised->finished();
  };
  REQUIRE(test::comes_true(finished));
  CHECK(supervised->result().killed);
  CHECK(processes_of_run(spec.run_id).empty());
}

TEST_CASE("a stopped supervisor does not stop the tuner: the run ends after its deadline, with all its processes",
          "[supervisor]") {
  const test::TemporaryFolder folder;
  for (const std::chrono::milliseconds deadline : test::kDeadlines) {
    RunPlan plan = test::fake_plan(folder.path(), "orphan_hang");
    plan.folder = folder.path() / plan.id;
    plan.deadline = deadline;
    pid_t supervisor = 0, orphan = 0;
    RunControl control;
    control.use_cgroup = false;  // a control group would hide what the tuner forgets
    control.progress = [&](const RunProgress& progress) {
      if (progress.phase != "build" || supervisor != 0) return;
      orphan = test::pid_in(plan.folder / "orphan.pid");
      supervisor = supervisor_of(plan);
      ::kill(supervisor, SIGSTOP);
    };
    const space::Run run = measure::run(plan, control);
    if (run.outcome == Outcome::Timeout) continue;  // it ended it before it could be stopped
    CHECK(run.outcome == Outcome::Killed);
    CHECK(run.reason ==
          "its supervisor (process " + std::to_string(supervisor) + ") was stopped and did not end it at its deadline");
    CHECK(processes_of_run(plan.id).empty());
    CHECK(orphan != 0);
    CHECK_FALSE(test::process_runs(orphan));
    CHECK_FALSE(test::process_runs(supervisor));
    return;
  }
  FAIL("it could not be stopped in time");
}

TEST_CASE("a stopped supervisor that goes on before the deadline is not ended", "[supervisor]") {
  const test::TemporaryFolder folder;
  const SuperviseSpec spec = lingering_spec(folder.path());
  auto supervised = SupervisedWorker::start(spec, find_supervisor());
  REQUIRE(supervised);
  REQUIRE(test::comes_true([&] { return processes_of_run(spec.run_id).size() == 1; }));
  REQUIRE(::kill(supervised->supervisor_pid(), SIGSTOP) == 0);
  for (int i = 0; i < 100; ++i) supervised->wait(1ms);
  REQUIRE(::kill(supervised->supervisor_pid(), SIGCONT) == 0);
  supervised->kill("the test wants it");
  REQUIRE(test::comes_true([&] {
    supervised->wait(5ms);
    return supervised->finished();
  }));
  CHECK_FALSE(supervised->lost());
  CHECK(supervised->result().killed_reason == "the test wants it");
}

TEST_CASE("what a supervisor says of the end and nobody understands is a failure of the run", "[supervisor]") {
  const test::TemporaryFolder folder;
  const std::filesystem::path program = folder.path() / "supervisor";
  std::ofstream(program)
      << "#!/bin/sh\nread spec <&3\necho '{\"result\": {\"wall_ns\": \"long\"}}' >&3\nexec sleep 600\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  RunControl control;
  control.supervisor = program;
  const space::Run run = measure::run(test::fake_plan(folder.path(), "obey"), control);
  CHECK(run.outcome == Outcome::Failed);
  CHECK_THAT(run.reason, ContainsSubstring("what its supervisor says of its end cannot be read") &&
                             ContainsSubstring("of the same version as nocturne?"));
}

TEST_CASE("the supervisor refuses to be used by hand", "[supervisor]") {
  const std::string program = find_supervisor().string();
  REQUIRE_FALSE(program.empty());
  const int status = std::system((program + " 2>/dev/null").c_str());
  CHECK(WEXITSTATUS(status) == 2);
}
