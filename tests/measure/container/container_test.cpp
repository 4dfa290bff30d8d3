#include "measure/container/container.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "measure/container/runtimes.hpp"
#include "measure/supervisor/process_tree.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace nocturne;
using namespace nocturne::measure;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;

namespace {

ContainerOrder sample_order() {
  return {.run_id = "r1",
          .owner = "1-2-3",
          .argv = {"/opt/w/worker", "two words", "--x"},
          .mounts = {{.path = "/data/runs", .writable = true}, {.path = "/opt/w"}},
          .variables = {{"A", "b c"}, {"LD_PRELOAD", "/usr/lib/libjemalloc.so.2"}},
          .cpus = {0, 2, 3},
          .folder = "/data/runs/r1",
          .memory_limit_bytes = 1 << 30,
          .user = "anna",
          .uid = 1000,
          .gid = 100};
}

const ContainerImage kFolderImage{.name = "i", .digest = "sha256:1", .root = "/images/i/root", .reference = ""};
const ContainerImage kStoredImage{.name = "i", .digest = "sha256:1", .root = "", .reference = "sha256:cafe"};

std::string words_of(const ContainerCommand& command) {
  return fmt::format("{}", fmt::join(command.argv, "|"));
}

}  // namespace

TEST_CASE("charliecloud binds all but /tmp, changes folder and becomes the worker", "[container]") {
  ContainerOrder order = sample_order();
  order.mounts.push_back({.path = "/tmp/x"});
  const auto command = charliecloud_runtime().command(kFolderImage, order);
  REQUIRE(command);
  const std::string words = words_of(*command);
  CHECK_THAT(words, StartsWith("ch-run|--env-no-expand|--set-env=PATH="));
  CHECK_THAT(words, ContainsSubstring("|--set-env=A=b c|--set-env=LD_PRELOAD=/usr/lib/libjemalloc.so.2|"));
  CHECK_THAT(words, ContainsSubstring("|--bind=/data/runs|--bind=/opt/w|--cd=/data/runs/r1|"));
  CHECK_THAT(words, EndsWith("|/images/i/root|--|/opt/w/worker|two words|--x"));
  CHECK_THAT(words, !ContainsSubstring("/tmp/x"));
  CHECK(command->variables.at("USER") == "anna");
  CHECK(command->clean_up.empty());
  CHECK_FALSE(command->apart);
}

TEST_CASE("apptainer gets variables by its own environment, where a comma is no separator", "[container]") {
  ContainerOrder order = sample_order();
  order.variables["A"] = "b,c";
  order.gpu = true;
  const auto command = apptainer_runtime().command(kFolderImage, order);
  REQUIRE(command);
  const std::string words = words_of(*command);
  CHECK_THAT(words, ContainsSubstring("|exec|--no-home|"));
  CHECK_THAT(words, ContainsSubstring("|--nv|"));
  CHECK_THAT(words, ContainsSubstring("|--bind|/data/runs:/data/runs:rw|--bind|/opt/w:/opt/w:ro|"));
  CHECK_THAT(words, EndsWith("|/images/i/root|/opt/w/worker|two words|--x"));
  CHECK(command->variables.at("APPTAINERENV_A") == "b,c");
  CHECK_FALSE(command->variables.contains("A"));
}

TEST_CASE("an image in another form is run as the file that it is", "[container]") {
  ContainerImage image = kFolderImage;
  image.file = "/images/i/root.sqfs";
  image.form = "squashfs";
  CHECK_THAT(words_of(*charliecloud_runtime().command(image, sample_order())),
             ContainsSubstring("|/images/i/root.sqfs|--|/opt/w/worker|"));
  image.file = "/images/i/root.sif";
  image.form = "sif";
  const std::string by_kernel = words_of(*apptainer_runtime().command(image, sample_order()));
  CHECK_THAT(by_kernel, ContainsSubstring("|/images/i/root.sif|/opt/w/worker|") && !ContainsSubstring("--userns"));
  image.form = "sif-fuse";
  CHECK_THAT(words_of(*apptainer_runtime().command(image, sample_order())), ContainsSubstring("|--userns|"));
}

TEST_CASE("docker refuses a memory policy, which would not reach its containers", "[container]") {
  ContainerOrder order = sample_order();
  order.memory = {.mode = "bind", .nodes = {0}};
  CHECK_FALSE(docker_runtime().command(kStoredImage, order));
  order.memory = {.mode = "local"};
  CHECK(docker_runtime().command(kStoredImage, order));
}

TEST_CASE("docker is told of CPUs, memory and user, and how to remove the container", "[container]") {
  const auto command = docker_runtime().command(kStoredImage, sample_order());
  REQUIRE(command);
  const std::string words = words_of(*command);
  CHECK_THAT(words, StartsWith("docker|run|--rm|--pull|never|--network|none|--name|nocturne-r1|"));
  CHECK_THAT(words, ContainsSubstring("|--label|nocturne.owner=1-2-3|"));
  CHECK_THAT(words, ContainsSubstring("|--mount|type=bind,source=/data/runs,target=/data/runs|"));
  CHECK_THAT(words, ContainsSubstring("|--mount|type=bind,source=/opt/w,target=/opt/w,readonly|"));
  CHECK_THAT(words, ContainsSubstring("|--env|NOCTURNE_RUN_ID|--env|NOCTURNE_SUPERVISOR|"));
  CHECK_THAT(words, ContainsSubstring("|--user|1000:100|--cpuset-cpus|0,2,3|--memory|1073741824b|"));
  CHECK_THAT(words, EndsWith("|sha256:cafe|two words|--x"));
  CHECK_THAT(words, ContainsSubstring("|--entrypoint|/opt/w/worker|"));
  CHECK(command->apart);
  CHECK(command->clean_up == std::vector<std::string>{"docker", "rm", "--force", "nocturne-r1"});
  CHECK(command->variables.empty());
}

TEST_CASE("podman's obstacles are known before an image is asked for", "[container]") {
  const PodmanHost usual{.mixed_cgroups = false, .has_runc = false};
  CHECK(podman_obstacle(usual) == "");
  CHECK_THAT(podman_obstacle({.mixed_cgroups = true, .has_runc = false}), ContainsSubstring("apt-get install runc"));
  CHECK(podman_obstacle({.mixed_cgroups = true, .has_runc = true}) == "");
  CHECK_THAT(podman_obstacle({.in_chroot = true}), ContainsSubstring("in a chroot"));
}

TEST_CASE("podman is told what the machine needs", "[container]") {
  const PodmanHost usual{.mixed_cgroups = false, .has_runc = true, .systemd = true, .root = false};
  auto command = podman_command(kStoredImage, sample_order(), usual);
  REQUIRE(command);
  CHECK_THAT(words_of(*command), StartsWith("podman|run|"));
  CHECK_THAT(words_of(*command), !ContainsSubstring("--cpuset-cpus"));
  CHECK_THAT(words_of(*command), !ContainsSubstring("--memory"));
  CHECK_THAT(words_of(*command), !ContainsSubstring("--user"));  // root inside is the user outside

  const PodmanHost odd{.mixed_cgroups = true,
                       .has_runc = true,
                       .systemd = false,
                       .limits_are_fixed = true,
                       .most_files = 20000,
                       .root = true};
  command = podman_command(kStoredImage, sample_order(), odd);
  REQUIRE(command);
  CHECK_THAT(words_of(*command), StartsWith("podman|--runtime|runc|--cgroup-manager|cgroupfs|run|"));
  CHECK_THAT(words_of(*command), ContainsSubstring("|--ulimit|nofile=20000:20000|--ulimit|nproc="));
  CHECK_THAT(words_of(*command), ContainsSubstring("|--cpuset-cpus|0,2,3|--memory|1073741824b|"));
  CHECK(command->clean_up.back() == "nocturne-r1");
  CHECK(command->clean_up.at(1) == "--runtime");
}

TEST_CASE("a path that a runtime's option would read otherwise is refused", "[container]") {
  ContainerOrder order = sample_order();
  order.mounts = {{.path = "/data/a,readonly=false"}};
  for (const ContainerRuntime* runtime : container_runtimes()) {
    const ContainerImage& image = runtime->keeps_images() ? kStoredImage : kFolderImage;
    const bool comma_matters = runtime->name() != "charliecloud";
    CHECK(runtime->command(image, order).has_value() != comma_matters);
    ContainerOrder relative = sample_order();
    relative.mounts = {{.path = "../etc"}};
    CHECK_FALSE(runtime->command(image, relative));
  }
  order.mounts = {{.path = "/data/a:/etc"}};
  CHECK_FALSE(charliecloud_runtime().command(kFolderImage, order));
  CHECK_FALSE(apptainer_runtime().command(kFolderImage, order));
  order = sample_order();
  order.variables["A=B"] = "c";
  CHECK_FALSE(docker_runtime().command(kStoredImage, order));
}

TEST_CASE("an image in the wrong form is refused, a GPU where there is no way for it", "[container]") {
  for (const ContainerRuntime* runtime : container_runtimes()) {
    const ContainerImage& wrong = runtime->keeps_images() ? kFolderImage : kStoredImage;
    CHECK_FALSE(runtime->command(wrong, sample_order()));
  }
  ContainerOrder order = sample_order();
  order.gpu = true;
  const auto refused = charliecloud_runtime().command(kFolderImage, order);
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error(), ContainsSubstring("ch-fromhost"));
  CHECK_THAT(words_of(docker_runtime().command(kStoredImage, order).value()), ContainsSubstring("|--gpus|all|"));
}

TEST_CASE("a mount below another is left out unless it must be written", "[container]") {
  const auto kept = least_mounts({{.path = "/a/b/c"},
                                  {.path = "/a/b/"},
                                  {.path = "/a/bc"},
                                  {.path = "/a/b/d", .writable = true},
                                  {.path = "/w", .writable = true},
                                  {.path = "/w/x"},
                                  {.path = "/w", .writable = false}});
  CHECK(kept == std::vector<ContainerMount>{{.path = "/a/b"},
                                            {.path = "/a/b/d", .writable = true},
                                            {.path = "/a/bc"},
                                            {.path = "/w", .writable = true}});
  CHECK(lies_in("/tmp/x", "/tmp"));
  CHECK_FALSE(lies_in("/tmpx", "/tmp"));
}

TEST_CASE("runtimes are found by name, and host is none", "[container]") {
  CHECK(find_container_runtime("podman")->name() == "podman");
  CHECK(find_container_runtime("host") == nullptr);
  CHECK(find_container_runtime("") == nullptr);
  CHECK(available_containers().front() == "host");
}

TEST_CASE("tools are found on the path, folders and files that are not executable are not", "[container]") {
  namespace fs = std::filesystem;
  const test::TemporaryFolder folder;
  fs::create_directories(folder.path() / "a" / "nocturne-tool");
  fs::create_directories(folder.path() / "b");
  std::ofstream(folder.path() / "b" / "nocturne-tool") << "#!/bin/sh\necho said; echo why >&2; exit 3\n";
  const std::string before = std::getenv("PATH");
  const std::string path = fmt::format("{0}/a:{0}/b:{1}", folder.path().string(), before);
  REQUIRE(::setenv("PATH", path.c_str(), 1) == 0);
  CHECK_FALSE(find_tool("nocturne-tool"));
  fs::permissions(folder.path() / "b" / "nocturne-tool", fs::perms::owner_all);
  CHECK(find_tool("nocturne-tool") == folder.path() / "b" / "nocturne-tool");
  CHECK(ask_tool({"nocturne-tool"}, std::chrono::seconds(10)).error() == "why");
  ::setenv("PATH", before.c_str(), 1);
}

TEST_CASE("containers without an owner are swept, others' are not", "[container]") {
  ProcessIdentity gone = ProcessIdentity::of_this_process();
  const std::string living = gone.to_text();
  gone.start_ticks += 1;
  const std::string lines = fmt::format("aaa {}\nbbb {}\nccc\nddd nonsense\n", living, gone.to_text());
  CHECK(ownerless(lines) == std::vector<std::string>{"bbb"});
}
