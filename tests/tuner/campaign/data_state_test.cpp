#include "tuner/campaign/session.hpp"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "tests/support/temporary_folder.hpp"

namespace nocturne::test {
namespace {

namespace fs = std::filesystem;

void write(const fs::path& file, const std::string& bytes) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << bytes;
}

}  // namespace

TEST_CASE("other images are other data, wherever in the folder they lie", "[data_state]") {
  const test::TemporaryFolder folder;
  const fs::path cat = folder.path() / "cats/1.jpg", dog = folder.path() / "dogs/1.jpg";
  write(cat, "cat");
  write(dog, "dog");
  const space::Workload workload{.data = "folder", .data_folder = folder.path().string()};
  const std::string first = tuner::data_state(workload);
  CHECK_FALSE(first.empty());
  CHECK(tuner::data_state(workload) == first);

  std::set<std::string> states = {first};
  const auto other = [&] { return states.insert(tuner::data_state(workload)).second; };
  write(cat, "another cat");
  CHECK(other());
  const auto when = fs::last_write_time(dog);
  fs::last_write_time(dog, when + std::chrono::seconds(1));
  CHECK(other());
  fs::rename(dog, folder.path() / "dogs/2.jpg");
  CHECK(other());
  fs::remove(cat);
  CHECK(other());
}

TEST_CASE("what a program brings along has no state of its own", "[data_state]") {
  CHECK(tuner::data_state({.data = "mnist"}).empty());
}

}  // namespace nocturne::test
