#include "tuner/deploy/apply.hpp"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <csignal>

#include "tests/support/temporary_folder.hpp"
#include "tests/tuner/deploy/sample_profile.hpp"
#include "tests/tuner/deploy/shell.hpp"
#include "tuner/deploy/exporter.hpp"

using namespace nocturne;
using Catch::Matchers::ContainsSubstring;

namespace {

deploy::ApplyMachine same_machine() {
  return {.fingerprint = test::sample_profile().measured_on.machine, .allowed_cpus = {0, 1, 2, 3}};
}

struct ChildEnd {
  int code = -1;
  deploy::ExecuteStep step{};
};

/// Executes in a child. A failure of execute() itself ends the child with 200 + step.
ChildEnd run_in_child(const deploy::ApplyPlan& plan) {
  const pid_t child = ::fork();
  if (child == 0) {
    const deploy::ExecuteFailure failure = deploy::execute(plan);
    ::_exit(200 + static_cast<int>(failure.step));
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return {.code = code, .step = static_cast<deploy::ExecuteStep>(code - 200)};
}

deploy::ApplyPlan shell_plan(const deploy::Profile& profile, const std::string& script) {
  return deploy::plan_apply(profile, {"sh", "-c", script}, same_machine(), false);
}

int first_allowed_cpu() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  ::sched_getaffinity(0, sizeof mask, &mask);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &mask)) return cpu;
  return 0;
}

}  // namespace

TEST_CASE("the machine that was measured raises no objection", "[deploy]") {
  const auto plan = shell_plan(test::sample_profile(), "true");
  CHECK(plan.objections.empty());
  CHECK(plan.warnings.empty());
}

TEST_CASE("a field that must match is an objection, one to verify a warning", "[deploy]") {
  deploy::ApplyMachine machine = same_machine();
  machine.fingerprint.set({.name = "cpu.model", .value = "Another CPU", .match = space::Match::Must});
  machine.fingerprint.set({.name = "kernel", .value = "6.2", .match = space::Match::Verify});
  const auto plan = deploy::plan_apply(test::sample_profile(), {"true"}, machine, false);
  REQUIRE(plan.objections.size() == 1);
  CHECK(plan.objections[0] == "cpu.model is 'Another CPU' here and was 'A CPU' where the profile was measured");
  REQUIRE(plan.warnings.size() == 1);
  CHECK_THAT(plan.warnings[0], ContainsSubstring("kernel"));
  CHECK(plan.differences.size() == 2);
}

TEST_CASE("a missing library, program or data folder is an objection that names it", "[deploy]") {
  deploy::Profile profile = test::sample_profile();
  profile.launch.preload = {"/nowhere/libmalloc.so"};
  const auto plan = deploy::plan_training(profile, "/tmp/x", "/nowhere/data", same_machine(), false);
  REQUIRE(plan.objections.size() == 3);
  CHECK_THAT(plan.objections[0], ContainsSubstring("/nowhere/libmalloc.so"));
  CHECK_THAT(plan.objections[1], ContainsSubstring("/opt/builds/k/worker"));
  CHECK_THAT(plan.objections[2], ContainsSubstring("/nowhere/data"));
}

TEST_CASE("CPUs that this process may not use are an objection, and are cut by force", "[deploy]") {
  deploy::Profile profile = test::sample_profile();
  profile.launch.cpus = {2, 3, 4, 5};
  const auto plan = deploy::plan_apply(profile, {"true"}, same_machine(), false);
  REQUIRE(plan.objections.size() == 1);
  CHECK_THAT(plan.objections[0], ContainsSubstring("2,3,4,5"));
  CHECK(deploy::plan_apply(profile, {"true"}, same_machine(), true).cpus == std::vector{2, 3});
}

TEST_CASE("the command gets the profile's environment and gives back its own status", "[deploy]") {
  const test::TemporaryFolder folder;
  const std::string file = (folder.path() / "out").string();
  ::setenv("GOMP_CPU_AFFINITY", "0", 1);
  ::setenv("STAYS", "yes", 1);
  const auto ended = run_in_child(shell_plan(test::sample_profile(),
                                             "printf '%s|%s|%s' \"$OMP_NUM_THREADS\" \"${GOMP_CPU_AFFINITY-unset}\" "
                                             "\"$STAYS\" > '" +
                                                 file + "'; exit 42"));
  ::unsetenv("GOMP_CPU_AFFINITY");
  ::unsetenv("STAYS");
  CHECK(ended.code == 42);
  CHECK(test::read_file(file) == "2|unset|yes");
}

TEST_CASE("the command runs on the profile's CPUs", "[deploy]") {
  deploy::Profile profile = test::sample_profile();
  profile.launch.cpus = {first_allowed_cpu()};
  deploy::ApplyMachine machine = same_machine();
  machine.allowed_cpus = profile.launch.cpus;
  const std::string script = "test \"$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)\" = " +
                             std::to_string(first_allowed_cpu());
  CHECK(run_in_child(deploy::plan_apply(profile, {"sh", "-c", script}, machine, false)).code == 0);
}

TEST_CASE("the command has the profile's memory policy", "[deploy]") {
  if (!std::filesystem::exists("/proc/self/numa_maps")) SKIP("this kernel shows no numa_maps");
  deploy::Profile profile = test::sample_profile();
  profile.launch.memory = {.mode = "bind", .nodes = {0}};
  const auto plan = shell_plan(profile, "grep -q ' bind:0 ' /proc/self/numa_maps");
  CHECK(run_in_child(plan).code == 0);
  CHECK_THAT(deploy::shell_line(plan), ContainsSubstring(" numactl --membind=0 sh -c "));
  profile.launch.memory.nodes = {900};
  CHECK(run_in_child(shell_plan(profile, "true")).step == deploy::ExecuteStep::Prepare);
}

TEST_CASE("a command that cannot start is told from one that fails", "[deploy]") {
  const test::TemporaryFolder folder;
  auto plan = deploy::plan_apply(test::sample_profile(), {"/nowhere/command"}, same_machine(), false);
  CHECK(run_in_child(plan).step == deploy::ExecuteStep::NotFound);
  test::make_file(folder.path() / "text", "not executable");
  plan.argv = {(folder.path() / "text").string()};
  CHECK(run_in_child(plan).step == deploy::ExecuteStep::NotExecutable);
  plan.argv = {"true"};
  plan.working_folder = folder.path() / "missing";
  CHECK(run_in_child(plan).step == deploy::ExecuteStep::Prepare);
}

TEST_CASE("the command does not inherit that SIGPIPE is ignored", "[deploy]") {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  // Bit 12 of SigIgn is signal 13, SIGPIPE: the fourth digit from the right, its lowest bit.
  const auto ended = run_in_child(shell_plan(test::sample_profile(),
                                             "case $(sed -n 's/^SigIgn:[[:space:]]*//p' /proc/self/status) in "
                                             "*[13579bdf]??"
                                             "?) exit 1 ;; esac"  // split: ??) would be a trigraph
                                             ));
  std::signal(SIGPIPE, before);
  CHECK(ended.code == 0);
}

TEST_CASE("the shell line of a plan does what the plan does", "[deploy]") {
  deploy::Profile profile = test::sample_profile();
  profile.launch.set["ODD"] = "it's $(odd)";
  const auto plan = shell_plan(profile, "printf '%s' \"$ODD $OMP_NUM_THREADS\"");
  CHECK(test::shell(deploy::shell_line(plan)).output == "it's $(odd) 2");
}
