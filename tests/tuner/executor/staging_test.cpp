#include "tuner/executor/staging.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "measure/artifact/compiler.hpp"
#include "measure/artifact/process.hpp"
#include "tests/support/temporary_folder.hpp"

namespace nocturne::test {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;
using tuner::Staging;

void write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A folder that all nodes share, with an environment in it, and the disk of one node.
class Disks {
 public:
  Disks() {
    fs::create_directories(local());
    write(shared() / "lib/module.py", "VALUE = 1\n");
    write(shared() / "bin/tool", "#!/bin/sh\necho tool\n");
    fs::permissions(shared() / "bin/tool", fs::perms::owner_all);
    fs::create_symlink("lib", shared() / "lib64");
    fs::last_write_time(shared() / "lib/module.py", fs::file_time_type::clock::now() - std::chrono::hours(50));
  }
  [[nodiscard]] fs::path shared() const { return folder_.path() / "shared/environment"; }
  [[nodiscard]] fs::path local() const { return folder_.path() / "local"; }
  /// Below which copies lie.
  [[nodiscard]] fs::path copies() const { return local() / fmt::format("nocturne-{}", ::geteuid()); }
  [[nodiscard]] Staging staging(std::int64_t keep_bytes = 0) {
    return Staging({.folder = local(),
                    .note = [this](const std::string& sentence) { said += sentence + "\n"; },
                    .keep_bytes = keep_bytes});
  }
  /// Where the environment is to be loaded from.
  [[nodiscard]] fs::path staged(Staging& staging, const std::string& identity = "1",
                                const std::stop_token& stop = {}) const {
    return staging.stage({.name = "torch-1", .identity = identity, .folder = shared()}, stop);
  }
  [[nodiscard]] std::size_t number_of_copies() const {
    std::size_t number = 0;
    for (const auto& entry : fs::directory_iterator(copies()))
      if (!entry.path().filename().string().starts_with('.')) ++number;
    return number;
  }

  std::string said;

 private:
  TemporaryFolder folder_;
};

std::string printed(const std::vector<std::string>& argv) {
  const auto text = measure::command_output({.argv = argv, .variables = {{"PYTHONDONTWRITEBYTECODE", "1"}}},
                                            std::chrono::steady_clock::now() + std::chrono::minutes(1));
  return text ? *text : text.error();
}

}  // namespace

TEST_CASE("what runs load is copied once to the node's disk, with times, modes and links", "[staging]") {
  Disks disks;
  Staging staging = disks.staging();
  const fs::path copy = disks.staged(staging);
  CHECK(copy.parent_path() == disks.copies());
  CHECK(copy.filename().string().starts_with("torch-1-"));
  CHECK(text_of(copy / "lib64/module.py") == "VALUE = 1\n");
  CHECK(fs::read_symlink(copy / "lib64") == "lib");
  CHECK(fs::last_write_time(copy / "lib/module.py") == fs::last_write_time(disks.shared() / "lib/module.py"));
  CHECK(printed({(copy / "bin/tool").string()}) == "tool\n");
  CHECK((fs::status(disks.copies()).permissions() & fs::perms::all) == fs::perms::owner_all);
  CHECK(fs::is_empty(disks.copies() / ".making"));

  write(copy / "mine", "");
  Staging later = disks.staging();
  CHECK(disks.staged(later) == copy);
  CHECK(fs::exists(copy / "mine"));  // it was not made again
  CHECK(disks.said.empty());
}

TEST_CASE("of a folder only the files that are named are copied", "[staging]") {
  Disks disks;
  Staging staging = disks.staging();
  const fs::path copy =
      staging.stage({.name = "build-1", .identity = "1", .folder = disks.shared(), .files = {"bin/tool"}}, {});
  CHECK(fs::exists(copy / "bin/tool"));
  CHECK_FALSE(fs::exists(copy / "lib"));
  Staging later = disks.staging();
  CHECK(later.stage({.name = "build-1", .identity = "1", .folder = disks.shared(), .files = {"bin/tool"}}, {}) == copy);
}

TEST_CASE("an environment that has changed is copied anew, and the copy from before goes when nobody uses it",
          "[staging]") {
  Disks disks;
  fs::path first;
  {
    Staging user = disks.staging();
    first = disks.staged(user);
    write(disks.shared() / "lib/module.py", "VALUE = 2\n");
    Staging other = disks.staging();
    const fs::path second = disks.staged(other, "2");
    CHECK(second != first);
    CHECK(text_of(second / "lib/module.py") == "VALUE = 2\n");
    CHECK(text_of(first / "lib/module.py") == "VALUE = 1\n");  // a process runs from it, maybe
  }
  Staging later = disks.staging();
  (void)disks.staged(later, "2");
  CHECK_FALSE(fs::exists(first));
  CHECK(disks.number_of_copies() == 1);
}

TEST_CASE("a copy that lost files, or was not used for a month, does not stay", "[staging]") {
  Disks disks;
  fs::path copy;
  {
    Staging staging = disks.staging();
    copy = disks.staged(staging);
    (void)staging.stage({.name = "old", .identity = "1", .folder = disks.shared()}, {});
  }
  fs::remove(copy / "lib/module.py");
  for (const auto& entry : fs::directory_iterator(disks.copies()))
    if (entry.path().filename().string().starts_with("old-"))
      fs::last_write_time(entry.path() / ".copied", fs::file_time_type::clock::now() - std::chrono::hours(24 * 31));
  Staging later = disks.staging();
  CHECK(disks.staged(later) == copy);
  CHECK(text_of(copy / "lib/module.py") == "VALUE = 1\n");
  CHECK(disks.number_of_copies() == 1);
}

TEST_CASE("where no folder is named nothing is copied, and nothing said", "[staging]") {
  Disks disks;
  Staging staging({.note = [&](const std::string& sentence) { disks.said += sentence; }});
  CHECK(disks.staged(staging) == disks.shared());
  CHECK(disks.said.empty());
}

TEST_CASE("what cannot be copied is loaded from where it lies, and a sentence says why, once", "[staging]") {
  Disks disks;
  std::string why;
  std::int64_t keep_bytes = 0;
  SECTION("there is no such folder") {
    fs::remove(disks.local());
    why = "there is no folder '" + disks.local().string() + "' here";
  }
  SECTION("others may write there") {
    fs::create_directories(disks.copies());
    fs::permissions(disks.copies(), fs::perms::all);
    why = "is no folder that you alone may write";
  }
  SECTION("its disk is full") {
    keep_bytes = std::int64_t{1} << 60U;
    why = "there is no room on the disk of";
  }
  SECTION("a file cannot be copied") {
    REQUIRE(::mkfifo((disks.shared() / "pipe").c_str(), S_IRUSR) == 0);
    why = "pipe cannot be copied";
  }
  Staging staging = disks.staging(keep_bytes);
  CHECK(disks.staged(staging) == disks.shared());
  CHECK_THAT(disks.said, ContainsSubstring("torch-1 is not copied to this machine's own disk, and loaded from " +
                                           disks.shared().string()) &&
                             ContainsSubstring(why));
  const std::string once = disks.said;
  CHECK(disks.staged(staging) == disks.shared());
  CHECK(disks.said == once);
  std::error_code none;
  if (fs::exists(disks.copies() / ".making", none)) {
    CHECK(fs::is_empty(disks.copies() / ".making"));
    CHECK(disks.number_of_copies() == 0);
  }
}

TEST_CASE("room is made by removing copies that nobody uses", "[staging]") {
  Disks disks;
  {
    Staging before = disks.staging();
    (void)before.stage({.name = "other", .identity = "1", .folder = disks.shared()}, {});
  }
  Staging staging = disks.staging(std::int64_t{1} << 60U);
  CHECK(disks.staged(staging) == disks.shared());
  CHECK(disks.number_of_copies() == 0);
}

TEST_CASE("several that want the same copy at once get one that is whole", "[staging]") {
  Disks disks;
  for (int i = 0; i < 300; ++i) write(disks.shared() / fmt::format("lib/module{}.py", i), std::string(1000, 'x'));
  constexpr int kUsers = 4;
  std::vector<Staging> users;
  for (int i = 0; i < kUsers; ++i) users.push_back(disks.staging());
  std::vector<fs::path> copies(kUsers);
  std::vector<int> files(kUsers);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < kUsers; ++i) {
      threads.emplace_back([&, i] {
        copies[i] = disks.staged(users[i]);
        for (const auto& entry : fs::directory_iterator(copies[i] / "lib")) files[i] += entry.is_regular_file() ? 1 : 0;
      });
    }
  }
  CHECK(copies == std::vector<fs::path>(kUsers, copies.front()));
  CHECK(copies.front().parent_path() == disks.copies());
  CHECK(files == std::vector<int>(kUsers, 301));
  CHECK(disks.number_of_copies() == 1);
}

TEST_CASE("a stop ends a copy, and nothing of it stays", "[staging]") {
  Disks disks;
  std::stop_source stop;
  Staging staging({.folder = disks.local(),
                   .note = [&](const std::string& sentence) { disks.said += sentence; },
                   .progress = [&](std::string_view) { stop.request_stop(); },
                   .keep_bytes = 0});
  CHECK(disks.staged(staging, "1", stop.get_token()) == disks.shared());
  CHECK(disks.number_of_copies() == 0);
  CHECK(fs::is_empty(disks.copies() / ".making"));
  CHECK_THAT(disks.said, ContainsSubstring("it was stopped"));
  CHECK(disks.staged(staging) != disks.shared());  // it is tried again when the session goes on
}

TEST_CASE("a virtual environment imports from its copy, modules as they were compiled", "[staging]") {
  const auto python = measure::find_program("python3");
  REQUIRE(python);
  Disks disks;
  // Made elsewhere and renamed, as the store does it.
  const fs::path environment = disks.shared().parent_path() / "venv";
  REQUIRE_THAT(printed({python->string(), "-I", "-m", "venv", "--without-pip", (environment / "making").string()}),
               ContainsSubstring(""));
  fs::rename(environment / "making", environment / "torch-1-abc");
  const fs::path original = environment / "torch-1-abc";
  const std::string packages = printed({(original / "bin/python").string(), "-I", "-c",
                                        "import sysconfig; print(sysconfig.get_path('purelib'), end='')"});
  REQUIRE(packages.starts_with(original.string()));
  write(fs::path(packages) / "tiny.py", "PLACE = __file__\n");
  fs::last_write_time(fs::path(packages) / "tiny.py", fs::file_time_type::clock::now() - std::chrono::hours(50));
  (void)printed({(original / "bin/python").string(), "-I", "-m", "compileall", "-q", packages});

  Staging staging = disks.staging();
  const measure::Environment here = staging.stage(measure::Environment{.recipe = "torch-1",
                                                                       .key = "k",
                                                                       .folder = original,
                                                                       .python = original / "bin/python",
                                                                       .lock = {},
                                                                       .interpreter = {}},
                                                  {});
  CHECK(here.folder.parent_path() == disks.copies());
  CHECK(here.python == here.folder / "bin/python");
  const std::string said =
      printed({here.python.string(), "-I", "-v", "-c", "import sys, tiny; print(sys.prefix); print(tiny.PLACE)"});
  CHECK_THAT(said, ContainsSubstring("\n" + here.folder.string() + "\n"));
  CHECK_THAT(said, ContainsSubstring("\n" + here.folder.string() + "/lib"));
  CHECK_THAT(said, !ContainsSubstring(original.string()));
  CHECK_THAT(said, ContainsSubstring(".pyc matches " + here.folder.string()));
  CHECK(disks.said.empty());

  // From the same lock it has the same key, and may be another all the same.
  measure::Environment anew{.recipe = "torch-1",
                            .key = "k",
                            .folder = original,
                            .python = original / "bin/python",
                            .lock = {},
                            .interpreter = {}};
  anew.installed += std::chrono::seconds(1);
  CHECK(staging.stage(anew, {}).folder != here.folder);
}

}  // namespace nocturne::test
