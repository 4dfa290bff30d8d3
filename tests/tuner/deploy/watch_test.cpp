#include "tuner/deploy/watch.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "measure/protocol/request.hpp"
#include "measure/supervisor/process_tree.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/tuner/deploy/sample_profile.hpp"
#include "tests/tuner/deploy/shell.hpp"

using namespace nocturne;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

/// A machine on which nothing happens but what a test says.
class Machine {
 public:
  explicit Machine(fs::path proc) : proc_(std::move(proc)) { write(); }
  ~Machine() {
    over_ = true;
    if (thread_.joinable()) thread_.join();
  }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  /// From now on all its processors are busy.
  void be_busy() {
    thread_ = std::thread([this] {
      while (!over_) {
        busy_ += 1000;
        write();
        std::this_thread::sleep_for(20ms);
      }
    });
  }

 private:
  void write() const {
    std::string text;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      text += "cpu" + std::to_string(cpu) + " " + std::to_string(busy_) + " 0 0 1000 0 0 0 0 0 0\n";
    test::make_file(proc_ / "stat.new", text);
    fs::rename(proc_ / "stat.new", proc_ / "stat");
  }
  fs::path proc_;
  std::int64_t busy_ = 0;
  std::atomic<bool> over_ = false;
  std::thread thread_;
};

/// A training whose steps take `step_us`, watched.
struct Watched {
  explicit Watched(std::int64_t step_us, std::int64_t steps = 100'000) {
    protocol::Request request;
    request.run_id = "watched";
    request.network = request.data = request.optimizer = "any";
    request.data_folder = folder.path().string();
    request.steps = steps;
    request.configuration = {{"step_us", step_us}};
    test::make_file(folder.path() / "request.json", protocol::to_json(request).dump());
    job.folder = folder.path();
    job.plan.argv = {NOCTURNE_FAKE_WORKER, "--request", (folder.path() / "request.json").string(), "--events",
                     (folder.path() / "events.jsonl").string()};
    job.limits = {.measured = {.seconds = 0.01, .sd = 0, .degrees = 4, .processes = 1},
                  .of_default = deploy::StepForecast{.seconds = 0.02, .sd = 0, .degrees = 4, .processes = 1}};
    settings.window = 300ms;
    settings.windows = 3;
    settings.grace = 300ms;
    settings.proc = folder.path() / "proc";
    settings.cpus = folder.path() / "cpus";
  }
  deploy::WatchEnd run() {
    return deploy::watch(job, settings, [this](const deploy::Canary& canary, bool) { seen.push_back(canary); });
  }

  test::TemporaryFolder folder;
  Machine machine{folder.path() / "proc"};
  deploy::WatchedJob job;
  deploy::WatchSettings settings;
  std::vector<deploy::Canary> seen;
};

}  // namespace

TEST_CASE("a deployed training that is as fast as measured goes on, and is noted once", "[deploy]") {
  Watched watched(1000, 1500);
  watched.settings.fall_back = true;
  const auto end = watched.run();
  CHECK(end.status == 0);
  CHECK_FALSE(end.fell_back);
  REQUIRE(watched.seen.size() == 1);
  CHECK(watched.seen[0].finding == deploy::CanaryFinding::AsMeasured);
}

TEST_CASE("a slow training that nothing explains is ended for the default", "[deploy]") {
  Watched watched(40'000);
  watched.settings.fall_back = true;
  const auto began = std::chrono::steady_clock::now();
  const auto end = watched.run();
  CHECK(end.fell_back);
  CHECK(std::chrono::steady_clock::now() - began < 30s);
  REQUIRE(watched.seen.size() == 1);
  CHECK(watched.seen[0].finding == deploy::CanaryFinding::SlowerThanDefault);
  CHECK(measure::descendants_of(::getpid()).empty());
}

TEST_CASE("a slow training beside busy neighbours is warned of and not ended", "[deploy]") {
  Watched watched(40'000, 60);
  watched.settings.fall_back = true;
  watched.machine.be_busy();
  const auto end = watched.run();
  CHECK_FALSE(end.fell_back);
  CHECK(end.status == 0);
  REQUIRE(watched.seen.size() == 1);
  CHECK(watched.seen[0].explained);
  CHECK_THAT(watched.seen[0].reasons.front(), ContainsSubstring("other processes took"));
}

TEST_CASE("a slow training is warned of alone where nobody asked for a fall-back", "[deploy]") {
  Watched watched(40'000, 60);
  const auto end = watched.run();
  CHECK_FALSE(end.fell_back);
  CHECK(end.status == 0);
  CHECK(watched.seen.size() == 1);
}

TEST_CASE("slower than measured, but not than the default, is no reason to fall back", "[deploy]") {
  Watched watched(15'000, 150);
  watched.job.limits.of_default->seconds = 10;
  watched.settings.fall_back = true;
  const auto end = watched.run();
  CHECK_FALSE(end.fell_back);
  REQUIRE(watched.seen.size() == 1);
  CHECK(watched.seen[0].finding == deploy::CanaryFinding::Slower);
}

TEST_CASE("a watched command ends as it ends, and one that cannot start says why", "[deploy]") {
  Watched watched(1000);
  watched.job.plan.argv = {"sh", "-c", "exit 42"};
  CHECK(deploy::end_as(watched.run().status) == 42);
  watched.job.plan.argv = {"sh", "-c", "kill -SEGV $$"};
  CHECK(WTERMSIG(watched.run().status) == SIGSEGV);
  watched.job.plan.argv = {"/nowhere/command"};
  const auto end = watched.run();
  REQUIRE(end.failure);
  CHECK(end.failure->step == deploy::ExecuteStep::NotFound);
  CHECK_THAT(end.failure->message, ContainsSubstring("/nowhere/command"));
}

TEST_CASE("a signal to the watch alone reaches the command", "[deploy]") {
  Watched watched(1000);
  watched.job.plan.argv = {"sh", "-c", "trap 'exit 9' TERM; kill -TERM $PPID; while :; do sleep 0.05; done"};
  CHECK(deploy::end_as(watched.run().status) == 9);
}

TEST_CASE("the private folder of a watch goes when nothing is looked at any more", "[deploy]") {
  Watched watched(1000, 3000);
  const test::TemporaryFolder events;
  const fs::path folder = events.path() / "watch";
  fs::create_directory(folder);
  watched.job.plan.argv.back() = (folder / "events.jsonl").string();
  watched.job.folder = folder;
  watched.job.private_folder = true;
  bool there_when_told = false;
  const auto end = deploy::watch(watched.job, watched.settings,
                                 [&](const deploy::Canary&, bool) { there_when_told = fs::exists(folder); });
  CHECK(end.status == 0);
  CHECK(there_when_told);
  CHECK_FALSE(fs::exists(folder));
}

TEST_CASE("a window is a quarter of an epoch, from two to ten seconds", "[deploy]") {
  deploy::Profile profile = test::sample_profile();
  CHECK(deploy::window_for(profile) == 10s);
  profile.step = deploy::StepForecast{.seconds = 0.001, .sd = 0.05, .degrees = 4, .processes = 1};
  CHECK(deploy::window_for(profile) == 2s);  // 468 steps a millisecond: an epoch is half a second
  profile.step->seconds = 0.05;
  CHECK(deploy::window_for(profile) == 5859ms);
  profile.step->seconds = 100;
  CHECK(deploy::window_for(profile) == 10s);
}
