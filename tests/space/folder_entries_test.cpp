#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "space/folder_entries.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace nocturne::space;
namespace fs = std::filesystem;

TEST_CASE("a folder's entries stay what they were while the folder changes", "[folder_entries]") {
  const nocturne::test::TemporaryFolder folder;
  fs::create_directory(folder.path() / "inner");
  std::ofstream(folder.path() / "b") << "b";
  std::ofstream(folder.path() / "a") << "a";

  std::error_code error = std::make_error_code(std::errc::io_error);
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : entries_of(folder.path(), error)) {
    names.push_back(entry.path().filename().string());
    fs::remove(entry.path());
  }
  CHECK_FALSE(error);
  std::ranges::sort(names);
  CHECK(names == std::vector<std::string>{"a", "b", "inner"});
  CHECK(entries_of(folder.path()).empty());
}

TEST_CASE("what is no folder has no entries, and the reason is told", "[folder_entries]") {
  const nocturne::test::TemporaryFolder folder;
  std::ofstream(folder.path() / "file") << "no folder";
  std::error_code error;
  CHECK(entries_of(folder.path() / "nowhere", error).empty());
  CHECK(error == std::errc::no_such_file_or_directory);
  CHECK(entries_of(folder.path() / "file", error).empty());
  CHECK(error == std::errc::not_a_directory);
}
