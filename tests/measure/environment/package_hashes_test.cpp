#include "measure/environment/package_hashes.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "measure/environment/requirement.hpp"
#include "space/file_contents.hpp"
#include "tests/measure/environment/wheelhouse.hpp"

// Real pip, packages of a few bytes, no network.

namespace nocturne::measure {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;
using test::entries_of;
using test::printed_by;
using test::Wheelhouse;

const std::string kSomeHash(64, 'a');

std::string line_of(const std::vector<std::string>& lock, std::string_view package) {
  const auto found = std::ranges::find_if(lock, [&](const std::string& line) { return package_of(line) == package; });
  return found == lock.end() ? std::string() : *found;
}

}  // namespace

TEST_CASE("a locked package is a version and the hashes of its files", "[environment][lock]") {
  CHECK(is_locked_package("numpy==1.19.5"));
  const std::string once = with_hash("numpy==1.19.5", kSomeHash), twice = with_hash(once, std::string(64, '0'));
  CHECK(once == "numpy==1.19.5 --hash=sha256:" + kSomeHash);
  CHECK(is_locked_package(once));
  CHECK(is_locked_package(twice));
  CHECK(version_in_lock(twice) == "numpy==1.19.5");
  CHECK(has_hash(twice));
  CHECK_FALSE(has_hash("numpy==1.19.5"));
  for (const std::string& wrong :
       {once + " --pre", once + "a", once.substr(0, once.size() - 1), "numpy --hash=sha256:" + kSomeHash,
        "numpy==1 --hash=md5:" + kSomeHash, "numpy==1  --hash=sha256:" + kSomeHash, with_hash("./numpy==1", kSomeHash),
        with_hash("numpy==1", std::string(64, 'G')), once + "\n-rlist.txt"}) {
    CAPTURE(wrong);
    CHECK_FALSE(is_locked_package(wrong));
  }
}

TEST_CASE("locks are compared by versions, the Python's own tools aside", "[environment][lock]") {
  CHECK(same_versions({"a==1", "pip==23.0"}, {with_hash("a==1", kSomeHash), "pip==24.0", "setuptools==65.5"}));
  CHECK_FALSE(same_versions({"a==1"}, {"a==2"}));
  CHECK_FALSE(same_versions({"a==1"}, {"a==1", "b==1"}));
}

TEST_CASE("a lock has the SHA-256 of each package, and another file of that name and version is refused",
          "[environment][lock][thorough]") {
  Wheelhouse house;
  house.add("tiny", "1.0", "import part", "part>=2");
  house.add("part", "2.5");
  const EnvironmentRecipe recipe = Wheelhouse::recipe({"tiny"});
  EnvironmentStore store(house.root());
  const auto first = store.obtain(recipe, house.places, house.options);
  INFO((first ? "" : first.error().reason + first.error().log_tail));
  REQUIRE(first);
  const fs::path wheel = house.wheels() / "tiny-1.0-py3-none-any.whl", kept = house.path() / "kept.whl";
  const std::string hash = space::sha256_of_file(wheel).value();
  CHECK(line_of(first->lock, "tiny") == with_hash("tiny==1.0", hash));
  CHECK(has_hash(line_of(first->lock, "part")));
  CHECK_FALSE(has_hash(line_of(first->lock, "pip")));  // each Python has its own

  house.options.lock = first->lock;
  const auto again = store.update(recipe, house.places, house.options);
  INFO((again ? "" : again.error().reason + again.error().log_tail));
  REQUIRE(again);
  CHECK(again->key == first->key);

  fs::copy_file(wheel, kept);
  house.add("tiny", "1.0", "import part\nprint('something else')");
  const auto refused = store.update(recipe, house.places, house.options);
  REQUIRE_FALSE(refused);
  CHECK_THAT(
      refused.error().reason,
      ContainsSubstring("a package is not the one that was asked for, so nothing was installed: tiny==1.0 from ") &&
          ContainsSubstring("has SHA-256 " + space::sha256_of_file(wheel).value() + ", not " + hash + "."));
  CHECK(entries_of(house.root() / ".making") == 0);
  CHECK(store.find(recipe)->key == first->key);
  CHECK(printed_by(*first, "import tiny") == "");

  fs::rename(kept, wheel);
  CHECK(store.update(recipe, house.places, house.options)->key == first->key);
}

TEST_CASE("a lock without hashes gets them, and one with hashes for some is refused", "[environment][lock]") {
  Wheelhouse house;
  house.add("tiny", "1.0");
  house.add("part", "2.5");
  const EnvironmentRecipe recipe = Wheelhouse::recipe({"tiny"});
  EnvironmentStore store(house.root());
  house.options.lock = {"part==2.5", "pip==1.0", "tiny==1.0"};  // as of before there were any, from another Python
  const auto made = store.obtain(recipe, house.places, house.options);
  INFO((made ? "" : made.error().reason + made.error().log_tail));
  REQUIRE(made);
  CHECK(has_hash(line_of(made->lock, "tiny")));
  CHECK(same_versions(made->lock, house.options.lock));

  house.options.lock = {"part==2.5", line_of(made->lock, "tiny")};
  const auto mixed = store.update(recipe, house.places, house.options);
  REQUIRE_FALSE(mixed);
  CHECK_THAT(mixed.error().reason, ContainsSubstring("the lock has hashes for some packages and not for others"));
}

TEST_CASE("a file that was built from what is locked is added to its line", "[environment][lock]") {
  const test::TemporaryFolder folder;
  for (const char* name :
       {"Some_Thing-1.0-py3-none-any.whl", "other-part-2.0.tar.gz", "nobodys-1.0.zip", "other-1.0-1.zip"})
    std::ofstream(folder.path() / name) << name;
  // A name that begins with another's stands before it and behind it.
  std::vector<std::string> lock = {"other-part==2.0", "other==1.0.post1", "some==3.0",
                                   with_hash("some-thing==1.0", kSomeHash)};
  REQUIRE(add_hashes_of(folder.path(), lock));
  const auto sha256 = [&](const char* name) { return space::sha256_of_file(folder.path() / name).value(); };
  CHECK(lock[1] == with_hash("other==1.0.post1", sha256("other-1.0-1.zip")));
  CHECK(lock[0] == with_hash("other-part==2.0", sha256("other-part-2.0.tar.gz")));
  CHECK(lock[2] == "some==3.0");
  CHECK(lock[3] == with_hash(with_hash("some-thing==1.0", kSomeHash), sha256("Some_Thing-1.0-py3-none-any.whl")));
  const std::vector<std::string> before = lock;
  REQUIRE(add_hashes_of(folder.path(), lock));
  CHECK(lock == before);
}

}  // namespace nocturne::measure
