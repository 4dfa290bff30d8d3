#include "measure/container/image_form.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "measure/container/runtimes.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace nocturne;
using namespace nocturne::measure;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

/// An impostor of mksquashfs and ch-run comes first on PATH: it writes down what it is asked to make, and how often.
struct Squash {
  Squash() : before(std::getenv("PATH")) {
    tool("mksquashfs", "find \"$1\" -mindepth 1 > \"$2\"\necho made >> " + (folder.path() / "log").string());
    tool("ch-run", "echo SquashFS mount point");
    REQUIRE(::setenv("PATH", ((folder.path() / "bin").string() + ":" + before).c_str(), 1) == 0);
    fs::create_directories(folder.path() / "root");
    REQUIRE(take_form(charliecloud_runtime(), "squashfs", folder.path(), image));
  }
  ~Squash() { ::setenv("PATH", before.c_str(), 1); }
  void tool(const std::string& name, const std::string& text) const {
    fs::create_directories(folder.path() / "bin");
    std::ofstream(folder.path() / "bin" / name) << "#!/bin/sh\n" << text << '\n';
    fs::permissions(folder.path() / "bin" / name, fs::perms::owner_all);
  }
  [[nodiscard]] std::string text(const fs::path& file) const {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  [[nodiscard]] std::size_t times_made() const { return text(folder.path() / "log").size() / 5; }
  [[nodiscard]] auto shape(const fs::path& mount) const {
    return shape_image(image, charliecloud_runtime(), {{.path = mount}});
  }

  test::TemporaryFolder folder;
  std::string before;
  ContainerImage image{.name = "i", .digest = "sha256:1", .root = folder.path() / "root", .reference = ""};
};

}  // namespace

TEST_CASE("a file is made of the folder once, and anew where a mount has no place in it", "[container]") {
  const Squash squash;
  CHECK(squash.image.file == squash.folder.path() / "root.sqfs");
  REQUIRE(squash.shape("/data/runs"));
  REQUIRE(squash.shape("/data/runs"));
  CHECK(squash.times_made() == 1);
  CHECK_THAT(squash.text(squash.image.file), ContainsSubstring("root/data/runs"));
  REQUIRE(squash.shape("/opt/worker"));
  CHECK(squash.times_made() == 2);
  CHECK_THAT(squash.text(squash.image.file), ContainsSubstring("root/opt/worker"));
  REQUIRE(squash.shape("/tmp/run-1"));  // inside already: each run has another
  CHECK(squash.times_made() == 2);
  fs::remove(squash.image.file);
  REQUIRE(squash.shape("/opt/worker"));
  CHECK(squash.times_made() == 3);
}

TEST_CASE("a file that cannot be made leaves the old one and says why", "[container]") {
  const Squash squash;
  REQUIRE(squash.shape("/data/runs"));
  squash.tool("mksquashfs", "echo half > \"$2\"; echo no room >&2; exit 1");
  const auto failed = squash.shape("/opt/worker");
  REQUIRE_FALSE(failed);
  CHECK_THAT(failed.error(), ContainsSubstring("root.sqfs cannot be made") && ContainsSubstring("no room"));
  CHECK_THAT(squash.text(squash.image.file), ContainsSubstring("root/data/runs"));
  CHECK(std::distance(fs::directory_iterator(squash.folder.path()), {}) == 4);  // bin, root, log, the old file
}

TEST_CASE("a form that a runtime does not have is refused with those it has", "[container]") {
  ContainerImage image{.name = "i", .digest = "sha256:1", .root = "/images/i/root", .reference = ""};
  const auto refused = take_form(charliecloud_runtime(), "sif", "/images/i", image);
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error(),
             ContainsSubstring("charliecloud has no image of the form 'sif'; it has folder, squashfs"));
  REQUIRE(take_form(charliecloud_runtime(), "folder", "/images/i", image));
  CHECK(image.file.empty());
  CHECK(available_image_forms().front() == "folder");
}
