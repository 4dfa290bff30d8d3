// Containers when something fails: images that are not there, tools without rights, a full disk, a stop. A runtime of
// the test's own runs programs of the system; those that are asked are scripts.

#include "measure/container/image_steps.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stop_token>
#include <string>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "measure/container/image_store.hpp"
#include "measure/container/runtimes.hpp"
#include "tests/support/small_disk.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace nocturne;
using namespace nocturne::measure;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

/// Gets an image by a script that stands for the runtime's own program.
class ScriptRuntime final : public ContainerRuntime {
 public:
  explicit ScriptRuntime(std::string script) : script_(std::move(script)) {}
  [[nodiscard]] std::string_view name() const override { return "script"; }
  [[nodiscard]] std::string_view package() const override { return "none"; }
  [[nodiscard]] std::string obstacle() const override { return {}; }
  [[nodiscard]] std::string version() const override { return "1"; }
  [[nodiscard]] std::expected<ContainerCommand, std::string> command(const ContainerImage& /*image*/,
                                                                     const ContainerOrder& /*order*/) const override {
    return std::unexpected(std::string("runs nothing"));
  }
  [[nodiscard]] bool keeps_images() const override { return false; }
  [[nodiscard]] std::expected<ImageSteps, std::string> acquire(const ImageRecipe& /*recipe*/, const fs::path& folder,
                                                               const std::string& /*tag*/) const override {
    return ImageSteps{{"sh", "-c", script_, "script", folder.string()}};
  }

 private:
  std::string script_;
};

ImageRecipe hub() {
  return {.name = "hub",
          .title = "",
          .kind = ImageKind::Reference,
          .suite = {},
          .packages = {},
          .mirror = {},
          .reference = "registry.example/x@sha256:" + std::string(64, 'a'),
          .file = {},
          .folder = {}};
}

/// What the store says, and that nothing incomplete counts.
ImageFailure failure_with(const fs::path& folder, const std::string& script, const std::stop_token& stop = {}) {
  ImageStore store(folder);
  const auto image = store.obtain(hub(), ScriptRuntime(script), {}, stop);
  REQUIRE_FALSE(image);
  CHECK(fs::is_empty(folder / ".making"));
  const auto again = store.obtain(hub(), ScriptRuntime("mkdir \"$1/root\"; echo x > \"$1/root/a\""), {});
  INFO((again ? "" : again.error().reason));
  CHECK(again);  // the next try is not in the way of the first
  return image.error();
}

/// Programs that stand before the system's on PATH.
class Impostor {
 public:
  Impostor(const std::string& program, const std::string& script) : before_(std::getenv("PATH")) {
    const fs::path file = folder_.path() / program;
    std::ofstream(file) << "#!/bin/sh\n" << script << '\n';
    fs::permissions(file, fs::perms::owner_all);
    setenv("PATH", (folder_.path().string() + ":" + before_).c_str(), 1);
  }
  Impostor(const Impostor&) = delete;
  Impostor& operator=(const Impostor&) = delete;
  ~Impostor() { setenv("PATH", before_.c_str(), 1); }

 private:
  test::TemporaryFolder folder_;
  std::string before_;
};

}  // namespace

TEST_CASE("an image that cannot be got is a sentence with the remedy, and can be got another time", "[container]") {
  const test::TemporaryFolder folder;
  SECTION("no network") {
    const auto failure =
        failure_with(folder.path(), "echo 'dial tcp: lookup registry.example: no such host' >&2; exit 125");
    CHECK_THAT(failure.reason, ContainsSubstring("image hub: pull registry.example/x@sha256:aaa") &&
                                   ContainsSubstring("no such host") && ContainsSubstring("look at the network"));
    CHECK_THAT(failure.log_tail, ContainsSubstring("no such host"));
  }
  SECTION("not there") {
    CHECK_THAT(failure_with(folder.path(), "echo 'Error: manifest unknown'; exit 1").reason,
               ContainsSubstring("no such digest any more"));
  }
  SECTION("no right") {
    CHECK_THAT(failure_with(folder.path(), "echo 'cannot set up namespace: Operation not permitted'; exit 1").reason,
               ContainsSubstring("this user lacks the right"));
  }
  SECTION("killed") {
    CHECK_THAT(failure_with(folder.path(), "kill -9 $$").reason, ContainsSubstring("killed by signal 9"));
  }
  SECTION("stopped") {
    std::stop_source stop;
    stop.request_stop();
    CHECK(failure_with(folder.path(), "sleep 600", stop.get_token()).interrupted);
  }
}

TEST_CASE("each error with an image has its own remedy", "[container]") {
  const auto remedy = [](const char* output) { return std::string(image_error(output).remedy); };
  CHECK_THAT(remedy("write /var/lib/x: no space left on device"), ContainsSubstring("free some space"));
  CHECK_THAT(remedy("unauthorized: authentication required"), ContainsSubstring("log in"));
  CHECK_THAT(remedy("x509: certificate signed by unknown authority"), ContainsSubstring("not trusted"));
  CHECK_THAT(remedy("E: No such script: /usr/share/debootstrap/scripts/forky"), ContainsSubstring("suite"));
  CHECK_THAT(remedy("connect: connection refused"), ContainsSubstring("network"));
  CHECK(remedy("something that nobody has seen").empty());
  CHECK(image_error("connect: connection refused").unreachable);
  CHECK_FALSE(image_error("unauthorized: authentication required").unreachable);
}

TEST_CASE("a full disk fails the image and says so", "[container]") {
  const test::TemporaryFolder folder;
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {  // a disk of its own
    if (!test::mount_small_disk(folder.path(), "1m").empty()) _exit(77);
    const auto image = ImageStore(folder.path())
                           .obtain(hub(), ScriptRuntime("dd if=/dev/zero of=\"$1/large\" bs=1M count=8 || exit 1"), {});
    _exit(!image && image.error().reason.contains("free some space") ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) SKIP("this user cannot mount a small disk");
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("a container tool without rights is an obstacle with its own words", "[container]") {
  SECTION("docker") {
    const Impostor docker("docker",
                          "echo 'permission denied while trying to connect to the daemon socket' >&2; exit 1");
    CHECK_THAT(docker_runtime().obstacle(), ContainsSubstring("its engine does not answer (permission denied"));
  }
  SECTION("podman") {
    const Impostor podman("podman", "echo 'Error: cannot set up namespace using newuidmap' >&2; exit 125");
    const std::string obstacle = podman_runtime().obstacle();
    CHECK(!obstacle.empty());
    if (obstacle.contains("cannot be used")) CHECK_THAT(obstacle, ContainsSubstring("newuidmap"));
  }
  SECTION("apptainer") {
    const Impostor apptainer("apptainer", "echo 'FATAL: not a setuid installation' >&2; exit 255");
    CHECK_THAT(apptainer_runtime().obstacle(), ContainsSubstring("not a setuid installation"));
  }
}
