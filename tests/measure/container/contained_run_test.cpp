// Real containers: the fake worker in a root file system made of itself and its libraries. Without network. Skipped
// where a runtime is not installed or cannot run.

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "measure/comparison/pair.hpp"
#include "measure/container/container.hpp"
#include "measure/container/image_form.hpp"
#include "measure/container/image_store.hpp"
#include "measure/container/runtimes.hpp"
#include "measure/supervisor/process_tree.hpp"
#include "tests/measure/fake_run.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace nocturne;
using namespace nocturne::measure;
using space::Outcome;
namespace fs = std::filesystem;

namespace {

// Copies the fake worker's libraries to where its loader looks for them.
void copy_libraries(const fs::path& root) {
  std::istringstream lines(ask_tool({"ldd", NOCTURNE_FAKE_WORKER}, std::chrono::seconds(20)).value());
  for (std::string line; std::getline(lines, line);) {
    const std::size_t begin = line.find('/');
    if (begin == std::string::npos) continue;
    const fs::path library = line.substr(begin, line.find(' ', begin) - begin);
    fs::create_directories((root / library.relative_path()).parent_path());
    fs::copy_file(library, root / library.relative_path(), fs::copy_options::skip_existing);
  }
  for (const char* folder : {"dev", "proc", "sys", "tmp", "etc"}) fs::create_directories(root / folder);
  for (const char* file : {"etc/passwd", "etc/group", "etc/hosts", "etc/resolv.conf"})
    std::ofstream(root / file).flush();
}

struct Ship {
  test::TemporaryFolder folder;
  const ContainerRuntime* runtime = nullptr;
  ContainerImage image;

  explicit Ship(std::string_view name) : runtime(find_container_runtime(name)) {
    if (const std::string obstacle = runtime->obstacle(); !obstacle.empty()) SKIP(obstacle);
    copy_libraries(folder.path() / "root");
    const ImageRecipe recipe{.name = "tiny", .title = "", .kind = ImageKind::Folder, .folder = folder.path() / "root"};
    auto made = ImageStore(folder.path() / "images").obtain(recipe, *runtime, {});
    if (!made) FAIL(made.error().reason + made.error().log_tail);
    image = *made;
    fs::create_directories(folder.path() / "runs");
  }
  ~Ship() {
    if (!image.reference.empty())
      (void)ask_tool({std::string(runtime->name()), "rmi", "--force", image.reference}, std::chrono::seconds(30));
  }

  /// Whether the image can be had in that form here; else it is as it was.
  bool take(const ImageForm& form) {
    const auto taken = take_form(*runtime, form.name, folder.path(), image);
    if (!taken) WARN(taken.error());
    return taken.has_value();
  }

  [[nodiscard]] RunPlan plan(const std::string& mode, const std::string& name = "run") const {
    RunPlan plan = test::fake_plan(folder.path() / "runs", mode);
    plan.folder = folder.path() / "runs" / name;
    ContainerOrder order{.run_id = plan.id,
                         .owner = ProcessIdentity::of_this_process().to_text(),
                         .argv = plan.argv,
                         .mounts = {{.path = folder.path() / "runs", .writable = true},
                                    {.path = fs::path(NOCTURNE_FAKE_WORKER).parent_path()}},
                         .variables = {{"FAKE_WISH", "two words, $HOME"}},
                         .cpus = {0},
                         .folder = plan.folder};
    const auto shaped = shape_image(image, *runtime, order.mounts);
    if (!shaped) FAIL(shaped.error());
    plan.cpus = order.cpus;
    const auto command = runtime->command(image, order);
    REQUIRE(command);
    plan.argv = command->argv;
    plan.environment = command->variables;
    plan.apart = command->apart;
    plan.clean_up = command->clean_up;
    return plan;
  }

  // Nothing is left: no process, no record.
  void check_empty(const std::string& run_id) const {
    CHECK(processes_of_run(run_id).empty());
    const auto list = runtime->list_command();
    if (list.empty()) return;
    const std::string owner = ProcessIdentity::of_this_process().to_text();  // other tests have theirs
    const auto is_gone = [&] { return !ask_tool(list, std::chrono::seconds(20)).value_or(owner).contains(owner); };
    CHECK(test::comes_true(is_gone));
  }
};

// One that can run here; the others are named, so that nobody takes them for tested.
std::string a_runtime() {
  std::vector<std::string> usable;
  for (const ContainerRuntime* runtime : container_runtimes()) {
    const std::string obstacle = runtime->obstacle();
    if (obstacle.empty()) usable.emplace_back(runtime->name());
    if (!obstacle.empty()) UNSCOPED_INFO(runtime->name() << ": " << obstacle);
  }
  if (usable.empty()) SKIP("no container runtime can run here");
  return GENERATE_COPY(from_range(usable));
}

}  // namespace

TEST_CASE("a worker in a container is recorded in full", "[container]") {
  const Ship ship(a_runtime());
  const RunPlan plan = ship.plan("obey");
  const space::Run run = measure::run(plan);
  INFO(run.log_tail);
  REQUIRE(run.reason == "");
  CHECK(run.outcome == Outcome::Ok);
  CHECK(run.samples.size() == 10);
  CHECK(run.cpu > std::chrono::nanoseconds(0));
  CHECK(run.ready["environment"]["FAKE_WISH"] == "two words, $HOME");
  CHECK(run.ready["environment"]["NOCTURNE_RUN_ID"] == plan.id);
  CHECK(run.ready["cpus"] == nlohmann::json{0});
  CHECK(run.ready["folder"] == plan.folder.string());
  ship.check_empty(plan.id);
}

TEST_CASE("a worker runs in an image of each form, two of them at once and one that hangs included", "[container]") {
  Ship ship(a_runtime());
  if (ship.runtime->forms().empty()) return;  // one form only: the other tests run it
  for (const ImageForm& form : ship.runtime->forms()) {
    if (!ship.take(form)) continue;
    CAPTURE(form.name);
    const std::string name(form.name);
    space::Run beside;
    std::thread other([&, plan = ship.plan("obey", name + "-beside")] { beside = measure::run(plan); });
    const space::Run run = measure::run(ship.plan("obey", name));
    other.join();
    CHECK(run.reason == "");
    CHECK(run.outcome == Outcome::Ok);
    CHECK(beside.outcome == Outcome::Ok);
    CHECK(run.samples.size() == 10);
    RunPlan hangs = ship.plan("hang", name + "-hangs");
    hangs.deadline = std::chrono::seconds(5);
    CHECK(measure::run(hangs).outcome == Outcome::Timeout);
    ship.check_empty(hangs.id);
  }
}

TEST_CASE("a worker that hangs in a container is ended at its deadline, with all it started", "[container]") {
  const Ship ship(a_runtime());
  space::Run run;
  for (const int seconds : {2, 10, 60}) {  // until a container could be made meanwhile
    RunPlan plan = ship.plan("hang", std::to_string(seconds));
    plan.deadline = std::chrono::seconds(seconds);
    run = measure::run(plan);
    INFO(run.log_tail);
    CHECK(run.outcome == Outcome::Timeout);
    ship.check_empty(plan.id);
    if (!run.phases.empty()) break;
  }
  CHECK_FALSE(run.phases.empty());
}

TEST_CASE("a worker in a container hears its turns and stands still between them", "[container]") {
  const Ship ship(a_runtime());
  PairPlan pair;
  pair.sides[0] = {.plan = ship.plan("obey", "a"), .slice_steps = 2};
  pair.sides[1] = {.plan = ship.plan("obey", "b"), .slice_steps = 2};
  pair.slices = 3;
  const PairResult result = measure::run_pair(pair);
  for (const space::Run& side : result.runs) {
    INFO(side.reason << '\n' << side.log_tail);
    CHECK(side.outcome == Outcome::Ok);
  }
  CHECK(result.complete());
  for (const PairSide& side : pair.sides) ship.check_empty(side.plan.id);
}

TEST_CASE("what a killed tuner left in a container is ended, and the next one sweeps its record", "[container]") {
  const Ship ship(a_runtime());
  RunPlan plan = ship.plan("hang");
  plan.deadline = 10 * test::kPatience;  // nothing here waits for that
  const pid_t tuner = ::fork();
  if (tuner == 0) {
    (void)measure::run(plan);
    ::_exit(0);
  }
  CHECK(test::comes_true(
      [&] { return fs::exists(plan.folder / "events.jsonl") && fs::file_size(plan.folder / "events.jsonl") > 0; },
      std::chrono::seconds(60)));
  ::kill(tuner, SIGKILL);
  ::waitpid(tuner, nullptr, 0);
  CHECK(test::comes_true([&] { return processes_of_run(plan.id).empty(); }));
  ship.check_empty(plan.id);
}
