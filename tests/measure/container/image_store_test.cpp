#include "measure/container/image_store.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "measure/container/runtimes.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace nocturne;
using namespace nocturne::measure;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

void put(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

ImageRecipe folder_recipe(const fs::path& root) {
  return {.name = "mine", .title = "", .kind = ImageKind::Folder, .folder = root};
}

}  // namespace

TEST_CASE("a folder becomes an image that is known by its files", "[container]") {
  const test::TemporaryFolder folder;
  const fs::path root = folder.path() / "root";
  put(root / "bin/a", "one");
  ImageStore store(folder.path() / "images");
  const auto image = store.obtain(folder_recipe(root), charliecloud_runtime(), {});
  REQUIRE(image);
  CHECK(image->root == root);
  CHECK(image->reference.empty());
  CHECK(image->digest == digest_of_files(root));
  CHECK(image->digest.starts_with("sha256:"));
  CHECK(store.list().size() == 1);
  CHECK(store.remove("mine"));
  CHECK(store.list().empty());
  CHECK_FALSE(store.remove("mine"));
  CHECK(fs::exists(root / "bin/a"));  // it is not ours
}

TEST_CASE("what is no manifest of ours is no image", "[container]") {
  const test::TemporaryFolder folder;
  const ImageStore store(folder.path() / "images");
  put(folder.path() / "images/odd-1/manifest.json", R"({"image": 5, "digest": "d"})");
  put(folder.path() / "images/odd-2/manifest.json", R"({"image": "odd")");
  CHECK(store.list().empty());
}

TEST_CASE("the digest of files sees contents, names and permissions, but no mount point", "[container]") {
  const test::TemporaryFolder folder;
  put(folder.path() / "a", "one");
  const std::string first = digest_of_files(folder.path());
  REQUIRE(make_mount_points(folder.path(), {{.path = "/data/runs"}}));
  CHECK(fs::is_directory(folder.path() / "data/runs"));
  CHECK(digest_of_files(folder.path()) == first);
  fs::permissions(folder.path() / "a", fs::perms::owner_all);
  const std::string second = digest_of_files(folder.path());
  CHECK(second != first);
  put(folder.path() / "a", "two");
  const std::string third = digest_of_files(folder.path());
  CHECK(third != second);
  fs::rename(folder.path() / "a", folder.path() / "b");
  CHECK(digest_of_files(folder.path()) != third);
}

TEST_CASE("the digest of packages sees names and versions in any order", "[container]") {
  const test::TemporaryFolder folder;
  CHECK(digest_of_packages(folder.path()).empty());
  const fs::path status = folder.path() / "var/lib/dpkg/status";
  put(status, "Package: a\nStatus: install ok installed\nVersion: 1\n\nPackage: b\nVersion: 2\n\n");
  const std::string first = digest_of_packages(folder.path());
  put(status, "Package: b\nVersion: 2\n\nPackage: a\nVersion: 1\nDescription: x\n\n");
  CHECK(digest_of_packages(folder.path()) == first);
  put(status, "Package: b\nVersion: 3\n\nPackage: a\nVersion: 1\n\n");
  CHECK(digest_of_packages(folder.path()) != first);
}

TEST_CASE("an image that cannot be made is a sentence, and leaves nothing", "[container]") {
  const test::TemporaryFolder folder;
  ImageStore store(folder.path() / "images");
  const auto missing = store.obtain(folder_recipe(folder.path() / "nowhere"), charliecloud_runtime(), {});
  REQUIRE_FALSE(missing);
  CHECK_THAT(missing.error().reason, ContainsSubstring("there is no folder"));
  ImageRecipe huge{
      .name = "huge", .title = "", .kind = ImageKind::Debootstrap, .suite = "bookworm", .disk_mb = 1'000'000'000};
  const auto refused = store.obtain(huge, charliecloud_runtime(), {});
  REQUIRE_FALSE(refused);  // no room, no debootstrap or no root: a sentence in any case
  CHECK_THAT(refused.error().reason, ContainsSubstring("image huge: "));
  CHECK(store.list().empty());
  CHECK(fs::is_empty(folder.path() / "images/.making"));
}

TEST_CASE("incomplete images of a maker that is gone are swept", "[container]") {
  const test::TemporaryFolder folder;
  put(folder.path() / ".making/x-123456789012.99/root/a", "half");
  const ImageStore store(folder.path());
  CHECK(fs::is_empty(folder.path() / ".making"));
}
