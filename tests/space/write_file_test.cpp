#include "space/write_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/support/temporary_folder.hpp"
#include "tests/tuner/deploy/shell.hpp"

using namespace nocturne;
namespace fs = std::filesystem;

TEST_CASE("a file is written whole, folders and permissions included", "[write_file]") {
  const nocturne::test::TemporaryFolder folder;
  const mode_t mask = ::umask(027);
  const fs::path file = folder.path() / "a" / "b" / "train.sh";
  CHECK(space::write_file(file, "one\n", true));
  CHECK(nocturne::test::read_file(file) == "one\n");
  CHECK((fs::status(file).permissions() & fs::perms::all) == static_cast<fs::perms>(0750));
  CHECK(space::write_file(file, "two\n"));
  CHECK(nocturne::test::read_file(file) == "two\n");
  CHECK((fs::status(file).permissions() & fs::perms::all) == static_cast<fs::perms>(0640));
  CHECK(std::distance(fs::directory_iterator(file.parent_path()), fs::directory_iterator()) == 1);
  ::umask(mask);
}

TEST_CASE("where a file cannot be written nothing is left behind and the old one stays", "[write_file]") {
  const nocturne::test::TemporaryFolder folder;
  const fs::path blocked = folder.path() / "target";
  fs::create_directories(blocked / "full");  // a folder stands where the file should
  const auto written = space::write_file(blocked, "text");
  REQUIRE_FALSE(written);
  CHECK_THAT(written.error(), Catch::Matchers::ContainsSubstring(blocked.string()));
  CHECK(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()) == 1);

  nocturne::test::make_file(folder.path() / "file", "old");
  CHECK_FALSE(space::write_file(folder.path() / "file" / "below", "text"));
  CHECK(nocturne::test::read_file(folder.path() / "file") == "old");
}
