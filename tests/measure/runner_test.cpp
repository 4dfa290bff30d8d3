#include "measure/run/runner.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <csignal>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include "measure/comparison/disturbance.hpp"
#include "measure/supervisor/process_tree.hpp"
#include "tests/measure/fake_run.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace nocturne;
using namespace nocturne::measure;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;
using space::Outcome;
using std::chrono::milliseconds;

namespace {

// Runs the mode and checks what holds for every run: nothing of it is left.
space::Run run_mode(const std::string& mode, nlohmann::json configuration = nlohmann::json::object(),
                    milliseconds deadline = test::kPatience, bool use_cgroup = true) {
  const test::TemporaryFolder folder;
  RunPlan plan = test::fake_plan(folder.path(), mode, std::move(configuration));
  plan.deadline = deadline;
  RunControl control;
  control.use_cgroup = use_cgroup;
  space::Run run = measure::run(plan, control);
  CHECK(processes_of_run(plan.id).empty());
  const pid_t orphan = test::pid_in(plan.folder / "orphan.pid");
  if (orphan != 0) CHECK_FALSE(test::process_runs(orphan));
  return run;
}

struct ExpectedEnd {
  const char* mode;
  Outcome outcome;
  const char* reason;
};

}  // namespace

TEST_CASE("a worker that obeys is recorded in full", "[runner]") {
  const test::TemporaryFolder folder;
  RunPlan plan = test::fake_plan(folder.path(), "obey");
  plan.purpose = space::Purpose::Verify;
  plan.artifact = "key";
  plan.request.seed = 42;
  plan.environment["FAKE_WISH"] = "two words";
  plan.environment["FAKE_GONE"] = "x";
  plan.cpus = {0};
  const int careless = ::fcntl(STDIN_FILENO, F_DUPFD, 50);  // inherited by whoever is started
  const space::Run run = measure::run(plan);
  ::close(careless);
  REQUIRE(run.reason == "");
  CHECK(run.outcome == Outcome::Ok);
  CHECK(run.id == plan.id);
  CHECK(run.purpose == space::Purpose::Verify);
  CHECK(run.artifact == "key");
  CHECK(run.seed == 42);
  CHECK(run.exit_code == 0);
  CHECK_FALSE(run.signal);
  CHECK(run.samples.size() == 10);
  CHECK(run.phases.size() == 3);
  CHECK(run.memory.value().peak_rss_bytes == 8 << 20);
  CHECK(run.wall > std::chrono::microseconds(500));
  CHECK(run.cpu > std::chrono::nanoseconds(0));
  CHECK(run.cpu < run.wall * 64);
  CHECK(run.started_unix_ns > 0);
  CHECK(run.load.loadavg_before);

  const auto& said = run.ready;
  CHECK(said["environment"]["NOCTURNE_RUN_ID"] == plan.id);
  CHECK(said["environment"]["FAKE_WISH"] == "two words");
  CHECK(said["cpus"] == nlohmann::json{0});
  CHECK(said["session_leader"] == true);
  CHECK(said["umask"] == 077);
  CHECK(said["stdin"] == "/dev/null");
  CHECK(said["folder"] == plan.folder.string());
  // The standard three, its request, its events, the folder it lists: nothing of ours.
  for (const int descriptor : said["descriptors"]) CHECK(descriptor <= 5);
  struct stat info{};
  REQUIRE(::stat(plan.folder.c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0700);
}

TEST_CASE("what a worker's device said of itself is part of the run, and disturbs it where it was held back",
          "[runner]") {
  const space::Run cool = run_mode("hot", {{"thermal_percent", 0}});
  REQUIRE(cool.outcome == Outcome::Ok);
  REQUIRE(cool.device);
  CHECK(cool.device->name == "Fake GPU");
  CHECK(cool.device->energy_j == 12.5);
  CHECK(cool.device->sm_clock_mhz == space::ReadingRange{.min = 900, .mean = 1200, .max = 1500});
  CHECK(cool.device->memory_clock_mhz == space::ReadingRange{});
  CHECK(cool.device->throttled.at("power_cap") == 1);
  CHECK(held_back(cool).empty());
  const space::Run hot = run_mode("hot", {{"thermal_percent", 50}});
  CHECK(hot.outcome == Outcome::Ok);
  CHECK(held_back(hot) == "thermal in 50 % of its readings");
  CHECK_FALSE(run_mode("obey").device);
}

TEST_CASE("a variable can be taken out of a worker's environment", "[runner]") {
  const test::TemporaryFolder folder;
  REQUIRE(::setenv("FAKE_INHERITED", "1", 1) == 0);
  RunPlan plan = test::fake_plan(folder.path(), "obey");
  plan.unset = {"FAKE_INHERITED"};
  const space::Run run = measure::run(plan);
  CHECK(run.outcome == Outcome::Ok);
  CHECK_FALSE(run.ready["environment"].contains("FAKE_INHERITED"));
}

TEST_CASE("every way of a worker to end has its outcome", "[runner]") {
  const ExpectedEnd expected[] = {
      {"computed", Outcome::Ok, ""},
      {"unsupported", Outcome::Unsupported, "bf16 needs AVX512_BF16"},
      {"diverge", Outcome::Diverged, "loss is nan at step 3"},
      {"not_finite", Outcome::Diverged, "loss not finite at step 1"},
      {"say_failed", Outcome::Failed, "exit code 1: the data are not there"},
      {"exit", Outcome::Failed, "exit code 3: ModuleNotFoundError: no module named 'mxnet'"},
      {"crash", Outcome::Crashed, "SIGSEGV (segmentation fault), in phase 'build'"},
      {"no_end", Outcome::ProtocolError, "exited with 0 without 'end', after step 1"},
      {"torn", Outcome::ProtocolError, "exited with 0 without 'end', after step 1; its last line is torn"},
      {"lie_version", Outcome::ProtocolError, "events, line 1: hello: protocol 7, this tuner speaks 1"},
      {"lie_order", Outcome::ProtocolError, "events, line 4: sample: step 2 comes again, after step 2"},
      {"lie_negative", Outcome::ProtocolError, "events, line 2: sample: 'wall_ns' is -5, below 1"},
      {"lie_no_hello", Outcome::ProtocolError, "events, line 1: sample: comes before 'hello'"},
      {"lie_steps", Outcome::ProtocolError, "it said 'ok' after 1 of 10 steps"},
      {"not_json", Outcome::ProtocolError, "events, line 2: not JSON: step 1 took 5 ms"},
      {"after_end", Outcome::ProtocolError, "events, line 3: sample: comes after 'end'"},
  };
  for (const ExpectedEnd& one : expected) {
    CAPTURE(one.mode);
    const space::Run run = run_mode(one.mode);
    CHECK(space::to_text(run.outcome) == space::to_text(one.outcome));
    CHECK(run.reason == one.reason);
  }
  const space::Run liar = run_mode("lie_time");
  CHECK(liar.outcome == Outcome::ProtocolError);
  CHECK_THAT(liar.reason, StartsWith("events, line 2: its samples last 3.6e+03 s in all, the process lived "));
}

TEST_CASE("no lie about steps and times passes for a measurement", "[runner]") {
  const std::map<std::string, std::string> expected = {
      {"lie_cpu_of_more_processors", "line 2: its samples take a processor time of 60 s in all, the process lived "},
      {"lie_cpu_time", "line 2: sample: 'cpu_ns' is 9223372036.8"},
      {"lie_data_wait", "line 2: sample: 'data_wait_ns' is 9223372036.8"},
      {"lie_epoch_longer_than_life", "line 3: its epochs last 900 s in all, the process lived "},
      {"lie_memory", "line 3: memory: 'peak_rss_bytes' is 9223372036854775807, above "},
      {"lie_nanosecond_steps", "line 2: 10 steps in 1e-08 s in all: no step is that short"},
      {"lie_phase_longer_than_life", "line 3: its phases 'build' last 900 s in all, the process lived "},
      {"lie_step_overflow", "line 2: sample: 'first_step' is 9223372036854775806 and 'steps' 5: there is no such step"},
      {"lie_wait_longer_than_life", "line 2: its waits for data last 60 s in all, the process lived "}};
  const std::filesystem::path corpus = std::filesystem::path(NOCTURNE_SOURCE_DIR) / "tests/fuzz/corpus/events";
  std::size_t lies = 0;
  for (const auto& seed : std::filesystem::directory_iterator(corpus)) {
    const std::string name = seed.path().filename();
    if (!name.starts_with("lie_")) continue;
    CAPTURE(name);
    ++lies;
    std::ifstream file(seed.path());
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const space::Run run = run_mode("recite", {{"events", text}});
    CHECK(space::to_text(run.outcome) == space::to_text(Outcome::ProtocolError));
    CHECK_THAT(run.reason, StartsWith("events, " + expected.at(name)));
  }
  CHECK(lies == expected.size());
}

TEST_CASE("a worker that hangs is ended at its deadline, and its phase is named", "[runner]") {
  const auto has_come_to_build = [](const space::Run& run) { return run.phases.size() == 2; };
  const test::TemporaryFolder folder;
  const space::Run build = test::run_until_deadline(
      test::fake_plan(folder.path() / "build", "hang", {{"phase", "build"}}), {}, has_come_to_build);
  CHECK(build.outcome == Outcome::Timeout);
  CHECK_THAT(build.reason, StartsWith("not finished within 3") && EndsWith("in phase 'build'"));
  REQUIRE(build.phases.size() == 2);
  CHECK_FALSE(build.phases[1].finished);
  CHECK(build.signal == SIGTERM);
  const space::Run silent = run_mode("hang_silent", {}, milliseconds(100));
  CHECK(silent.reason == "not finished within 100 ms, before 'hello'");
  const space::Run deaf =
      test::run_until_deadline(test::fake_plan(folder.path() / "deaf", "ignore_sigterm"), {}, has_come_to_build);
  CHECK(deaf.outcome == Outcome::Timeout);
  CHECK(deaf.signal == SIGKILL);
  const space::Run stopped = run_mode("stop_self", {}, milliseconds(100));
  CHECK(stopped.outcome == Outcome::Timeout);
  CHECK(stopped.signal == SIGTERM);  // continued, so that it could hear it
}

TEST_CASE("a total limit counts as well as the deadline", "[runner]") {
  const test::TemporaryFolder folder;
  RunPlan plan = test::fake_plan(folder.path(), "hang");
  plan.total_limit = milliseconds(150);
  const space::Run run = measure::run(plan);
  CHECK(run.outcome == Outcome::Timeout);
  CHECK_THAT(run.reason, ContainsSubstring("150 ms"));
}

TEST_CASE("processes that a worker leaves behind end with it", "[runner]") {
  // A control group would catch them all alone; without it the supervisor must.
  for (const bool use_cgroup : {true, false}) {
    CAPTURE(use_cgroup);
    CHECK(run_mode("grandchildren", {}, test::kPatience, use_cgroup).outcome == Outcome::Ok);
    CHECK(run_mode("orphan", {}, test::kPatience, use_cgroup).outcome == Outcome::Ok);
    CHECK(run_mode("orphan_hang", {}, milliseconds(500), use_cgroup).outcome == Outcome::Timeout);
  }
}

TEST_CASE("the supervisor counts what it had to end", "[runner]") {
  const test::TemporaryFolder folder;
  const RunPlan plan = test::fake_plan(folder.path(), "grandchildren");
  CHECK(measure::run(plan).outcome == Outcome::Ok);
  std::ifstream file(plan.folder / "result.json");
  const auto result = nlohmann::json::parse(file);
  CHECK(result["descendants_killed"] == 9);
  CHECK(result["survivors"].empty());
  CHECK(result["exit_code"] == 0);
}

TEST_CASE("a flood of output is kept at both ends and blocks nobody", "[runner]") {
  const test::TemporaryFolder folder;
  RunPlan plan = test::fake_plan(folder.path(), "flood_output", {{"bytes", 32 << 20}});
  plan.log_cap_bytes = 100'000;
  const space::Run run = measure::run(plan);
  CHECK(run.outcome == Outcome::Ok);
  CHECK_THAT(run.log_tail, ContainsSubstring("the last line of the flood"));
  CHECK(run.log_tail.size() <= 8 << 10);
  const auto size = std::filesystem::file_size(plan.folder / "log.txt");
  CHECK(size > 100'000 + (64 << 10));
  CHECK(size < 100'000 + (64 << 10) + 100);
}

TEST_CASE("a flood of events is an outcome, not a full memory or disk", "[runner]") {
  const test::TemporaryFolder folder;
  RunPlan plan = test::fake_plan(folder.path(), "flood_events");
  plan.event_cap_bytes = 1 << 20;
  const space::Run run = measure::run(plan);
  CHECK(run.outcome == Outcome::ProtocolError);
  CHECK_THAT(run.reason, ContainsSubstring("more than 1048576 bytes of events"));
  CHECK(std::filesystem::file_size(plan.folder / "events.jsonl") <= 1 << 20);
}

TEST_CASE("an interrupted run is killed, and says so", "[runner]") {
  const test::TemporaryFolder folder;
  std::stop_source stop;
  RunControl control{.stop = stop.get_token(), .progress = {}, .supervisor = {}, .proc = "/proc"};
  std::string phase;
  control.progress = [&](const RunProgress& progress) {
    phase = progress.phase;
    if (phase == "compile") stop.request_stop();  // it may be seen before it comes so far
  };
  const space::Run run = measure::run(test::fake_plan(folder.path(), "hang", {{"phase", "compile"}}), control);
  CHECK(run.outcome == Outcome::Killed);
  CHECK(run.reason == "interrupted");
  CHECK(phase == "compile");
}

TEST_CASE("a plan that cannot be tried fails with its reason", "[runner]") {
  const test::TemporaryFolder folder;
  RunPlan plan = test::fake_plan(folder.path(), "obey");
  plan.argv = {"/nonexistent/program"};
  space::Run run = measure::run(plan);
  CHECK(run.outcome == Outcome::Failed);
  CHECK(run.reason == "cannot start /nonexistent/program: No such file or directory");

  plan.argv = {NOCTURNE_FAKE_WORKER};
  CHECK_THAT(measure::run(plan).reason, ContainsSubstring("is not empty"));
  plan.cpus = {100'000};
  plan.folder = folder.path() / "cpus";
  CHECK_THAT(measure::run(plan).reason, ContainsSubstring("CPUs"));
  plan.cpus = {};
  plan.id = "../escape";
  CHECK_THAT(measure::run(plan).reason, ContainsSubstring("no run id"));
  plan.id = new_run_id();
  plan.argv.emplace_back("\xff");
  CHECK_THAT(measure::run(plan).reason, ContainsSubstring("not UTF-8"));
  plan.argv.pop_back();
  plan.request.data_folder = "/data/\xff";
  CHECK_THAT(measure::run(plan).reason, ContainsSubstring("folder of the data"));
  RunControl control;
  control.supervisor = "/nonexistent/supervisor";
  RunPlan other = test::fake_plan(folder.path() / "other", "obey");
  CHECK_THAT(measure::run(other, control).reason, ContainsSubstring("cannot start the supervisor"));
}

TEST_CASE("the command of a record repeats the run", "[runner]") {
  const test::TemporaryFolder folder;
  const auto odd = folder.path() / "it's a $HOME";
  std::filesystem::create_directory(odd);
  RunPlan plan = test::fake_plan(odd, "obey");
  plan.environment["FAKE_WISH"] = "a 'quoted' \"$word\"; false";
  plan.unset = {"FAKE_GONE"};
  plan.cpus = {0};
  const space::Run run = measure::run(plan);
  REQUIRE(run.outcome == Outcome::Ok);
  FILE* pipe = ::popen((run.command + " | cat").c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string output;
  char buffer[4096];
  while (const std::size_t count = std::fread(buffer, 1, sizeof buffer, pipe)) output.append(buffer, count);
  CHECK(::pclose(pipe) == 0);
  std::istringstream lines(output);
  int samples = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto event = nlohmann::json::parse(line);
    if (event["event"] == "sample") ++samples;
    if (event["event"] == "ready") CHECK(event["environment"]["FAKE_WISH"] == plan.environment["FAKE_WISH"]);
  }
  CHECK(samples == 10);
}

TEST_CASE("run ids differ", "[runner]") {
  CHECK(new_run_id() != new_run_id());
}
