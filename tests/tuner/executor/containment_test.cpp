#include "tuner/executor/containment.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "measure/container/runtimes.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace nocturne;
using Catch::Matchers::ContainsSubstring;
using tuner::ContainedPaths;
using tuner::Containment;
namespace fs = std::filesystem;

namespace {

void touch(const fs::path& file, const std::string& text = "x") {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

bool mounted(const std::vector<measure::ContainerMount>& mounts, const fs::path& path) {
  return std::ranges::any_of(mounts, [&](const auto& mount) { return measure::lies_in(path, mount.path); });
}

tuner::PreparedWorker prepared_for(const std::string& program) {
  tuner::PreparedWorker prepared;
  prepared.argv = {program};
  prepared.worker = "identity";
  return prepared;
}

}  // namespace

TEST_CASE("on the host nothing changes", "[containment]") {
  Containment containment({});
  tuner::PreparedWorker prepared = prepared_for("/bin/true");
  space::Configuration configuration;
  CHECK(containment.prepare(configuration, prepared, {}));
  configuration.set("container", std::string("host"));
  CHECK(containment.prepare(configuration, prepared, {}));
  CHECK(prepared.worker == "identity");
  CHECK(prepared.contained == nullptr);
}

TEST_CASE("a runtime nobody knows, and an image nobody knows, are sentences", "[containment]") {
  const test::TemporaryFolder folder;
  Containment containment({.installation = {},
                           .runs_folder = folder.path() / "runs",
                           .images_folder = folder.path() / "images",
                           .recipes = {folder.path()},
                           .progress = {}});
  tuner::PreparedWorker prepared = prepared_for("/bin/true");
  space::Configuration configuration;
  configuration.set("container", std::string("vessel"));
  auto refused = containment.prepare(configuration, prepared, {});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().outcome == space::Outcome::Unsupported);
  CHECK_THAT(refused.error().reason, ContainsSubstring("known are host, charliecloud"));
  for (const std::string& runtime : measure::available_containers()) {
    if (runtime == "host") continue;
    configuration.set("container", runtime);
    configuration.set("image", std::string("../etc"));
    refused = containment.prepare(configuration, prepared, {});
    REQUIRE_FALSE(refused);
    CHECK_THAT(refused.error().reason, ContainsSubstring("is no name of an image"));
  }
}

TEST_CASE("a virtual environment brings the Python it was made from", "[containment]") {
  const test::TemporaryFolder folder;
  const fs::path base = folder.path() / "pythons/3.7.1";
  touch(base / "bin/python3.7");
  fs::create_symlink("python3.7", base / "bin/python3");
  const fs::path environment = folder.path() / "environments/torch";
  touch(environment / "pyvenv.cfg", "home = " + (base / "bin").string() + "\nversion = 3.7.1\n");
  fs::create_directories(environment / "bin");
  fs::create_symlink(base / "bin/python3", environment / "bin/python");
  touch(folder.path() / "kernels/worker.py");

  const measure::ContainerImage image{.name = "i", .digest = "", .root = "", .reference = "x"};
  ContainedPaths paths(image);
  REQUIRE(paths.add_command({(environment / "bin/python").string(), (folder.path() / "kernels/worker.py").string()}));
  const auto mounts = paths.mounts();
  CHECK(mounted(mounts, environment / "bin/python"));
  CHECK(mounted(mounts, base / "lib/python3.7"));
  CHECK(mounted(mounts, folder.path() / "kernels/worker.py"));
  CHECK_FALSE(mounted(mounts, "/usr/bin"));
  CHECK_FALSE(mounted(mounts, folder.path() / "elsewhere"));
}

TEST_CASE("the system's own folders come from the image, or the worker is refused", "[containment]") {
  const test::TemporaryFolder folder;
  touch(folder.path() / "usr/bin/python3.11");
  const measure::ContainerImage image{.name = "i", .digest = "", .root = folder.path(), .reference = ""};
  ContainedPaths paths(image);
  CHECK(paths.add_command({"/usr/bin/true"}).error().find("the image i has no /usr/bin/true") == 0);
  touch(folder.path() / "usr/bin/true");
  CHECK(paths.add_command({"/usr/bin/true"}));
  CHECK(paths.mounts().empty());
}

TEST_CASE("an allocator is the image's own, is mounted, or refused", "[containment]") {
  const test::TemporaryFolder folder;
  const fs::path library = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2";
  const measure::ContainerImage image{.name = "i", .digest = "", .root = folder.path(), .reference = ""};
  ContainedPaths paths(image);
  CHECK_FALSE(paths.add_library(library, measure::charliecloud_runtime()));
  REQUIRE(paths.add_library(library, measure::podman_runtime()));
  CHECK(mounted(paths.mounts(), library));
  touch(folder.path() / library.relative_path());
  ContainedPaths own(image);
  CHECK(own.add_library(library, measure::charliecloud_runtime()));
  CHECK(own.mounts().empty());
}

TEST_CASE("the plan inside keeps id, folder and limits, and hides the worker's variables from the runtime",
          "[containment]") {
  const tuner::ContainerPlace contained{.runtime = &measure::docker_runtime(),
                                        .image = {.name = "i", .digest = "d", .root = "", .reference = "sha256:cafe"},
                                        .mounts = {{.path = "/data/images", .writable = false}}};
  measure::RunPlan plan;
  plan.id = "r1";
  plan.folder = "/data/runs/r1";
  plan.argv = {"/opt/worker"};
  plan.environment = {{"LD_PRELOAD", "/x.so"}};
  plan.cpus = {1};
  plan.memory_limit_bytes = 1 << 30;
  const auto inside = tuner::contained_plan(plan, contained);
  REQUIRE(inside);
  CHECK(inside->id == "r1");
  CHECK(inside->folder == plan.folder);
  CHECK(inside->memory_limit_bytes == plan.memory_limit_bytes);
  CHECK(inside->argv.front() == "docker");
  CHECK(std::ranges::find(inside->argv, "LD_PRELOAD=/x.so") != inside->argv.end());
  CHECK(std::ranges::find(inside->argv, "HOME=/data/runs/r1") != inside->argv.end());
  CHECK_FALSE(inside->environment.contains("LD_PRELOAD"));
  CHECK(std::ranges::find(inside->unset, "LD_PRELOAD") != inside->unset.end());
  CHECK(inside->apart);
  CHECK(inside->clean_up.back() == "nocturne-r1");
}

TEST_CASE("of the runs' folder a worker inside sees its own, to write, and that of the weights it begins with, to read",
          "[containment]") {
  const tuner::ContainerPlace contained{.runtime = &measure::docker_runtime(),
                                        .image = {.name = "i", .digest = "d", .root = "", .reference = "sha256:cafe"},
                                        .mounts = {{.path = "/data/images", .writable = false}}};
  measure::RunPlan plan;
  plan.id = "r1";
  plan.folder = "/data/runs/r1";
  plan.argv = {"/opt/worker"};
  plan.request.initial = "/data/runs/r0/initial";
  const auto inside = tuner::contained_plan(plan, contained);
  REQUIRE(inside);
  std::vector<std::string> mounts;
  for (std::size_t i = 0; i + 1 < inside->argv.size(); ++i)
    if (inside->argv[i] == "--mount") mounts.push_back(inside->argv[i + 1]);
  CHECK(mounts == std::vector<std::string>{"type=bind,source=/data/images,target=/data/images,readonly",
                                           "type=bind,source=/data/runs/r0,target=/data/runs/r0,readonly",
                                           "type=bind,source=/data/runs/r1,target=/data/runs/r1"});
}

TEST_CASE("where a runtime makes no mount points, each run has one in the image, and old ones go", "[containment]") {
  const test::TemporaryFolder folder;
  const fs::path root = folder.path() / "root";
  fs::create_directories(root);
  const tuner::ContainerPlace contained{.runtime = &measure::charliecloud_runtime(),
                                        .image = {.name = "i", .digest = "d", .root = root, .reference = ""},
                                        .mounts = {}};
  measure::RunPlan plan;
  plan.id = "r1";
  plan.folder = "/data/runs/r1";
  plan.argv = {"/opt/worker"};
  REQUIRE(tuner::contained_plan(plan, contained));
  CHECK(fs::is_directory(root / "data/runs/r1"));
  fs::create_directories(root / "data/runs/r0");
  fs::last_write_time(root / "data/runs/r0", fs::file_time_type::clock::now() - std::chrono::hours(48));
  tuner::remove_old_mount_points(root, "/data/runs");
  CHECK(fs::is_directory(root / "data/runs/r1"));
  CHECK_FALSE(fs::exists(root / "data/runs/r0"));
}

TEST_CASE("a warm compile cache is mounted into each kind of container, to be written", "[containment]") {
  const test::TemporaryFolder folder;
  const fs::path root = folder.path() / "root", cache = folder.path() / "caches/0123";
  for (const char* name : {"dev", "proc", "sys", "tmp", "etc", "bin"}) fs::create_directories(root / name);
  touch(root / "bin/true");
  touch(folder.path() / "recipes/mine.json",
        R"({"image": "mine", "kind": "folder", "folder": ")" + root.string() + R"("})");
  fs::create_directories(folder.path() / "runs");
  bool tried = false;
  for (const std::string& runtime : measure::available_containers()) {
    if (measure::find_container_runtime(runtime) == nullptr || measure::find_container_runtime(runtime)->keeps_images())
      continue;
    CAPTURE(runtime);
    tried = true;
    Containment containment({.installation = {.source_root = folder.path() / "source"},
                             .runs_folder = folder.path() / "runs",
                             .images_folder = folder.path() / "images",
                             .recipes = {folder.path() / "recipes"},
                             .progress = {}});
    space::Configuration configuration;
    configuration.set("container", runtime);
    configuration.set("image", std::string("mine"));
    tuner::PreparedWorker cold = prepared_for("/bin/true"), warm = prepared_for("/bin/true");
    cold.compile_cache = "compile-cache";  // in the run's own folder, which is mounted already
    warm.compile_cache = cache;
    const auto done = containment.prepare(configuration, cold, {});
    INFO((done ? "" : done.error().reason));
    REQUIRE(done);
    REQUIRE(containment.prepare(configuration, warm, {}));
    CHECK_FALSE(mounted(cold.contained->mounts, warm.compile_cache));
    // One for each image: what one compiled is no use to another.
    CHECK(warm.compile_cache.string().starts_with(cache.string() + '-'));
    const auto is_cache = [&warm](const measure::ContainerMount& mount) {
      return mount.path == warm.compile_cache && mount.writable;
    };
    CHECK(std::ranges::any_of(warm.contained->mounts, is_cache));
    CHECK(fs::is_directory(warm.compile_cache));
  }
  if (!tried) SKIP("no container runtime that runs folders is here");
}

TEST_CASE("a program of the image is not looked for on this machine", "[containment]") {
  const test::TemporaryFolder folder;
  touch(folder.path() / "bin/python3");
  ContainedPaths paths(measure::ContainerImage{.name = "i", .digest = {}, .root = {}, .reference = "sha256:1"});
  REQUIRE(paths.add_command({"", (folder.path() / "x").string()}));
  CHECK(paths.mounts().empty());
}
