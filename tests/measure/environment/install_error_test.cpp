#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <fstream>
#include <regex>
#include <thread>

#include "measure/environment/environment_store.hpp"
#include "tests/measure/environment/wheelhouse.hpp"
#include "tests/support/small_disk.hpp"

// Error made for real: a killed installer, a second one, a full disk, packages that are broken or gone.

namespace nocturne::measure {
namespace {

namespace fs = std::filesystem;
using test::entries_of;
using test::Wheelhouse;

/// A fix-up that waits at a FIFO until somebody has opened it for writing, once.
void add_waiting_fix_up(const Wheelhouse& house) {
  const fs::path fifo = house.path() / "fifo";
  REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
  house.add_fix_up("wait", "import os\nif not os.path.exists('" + (house.path() / "passed").string() + "'): open('" +
                               fifo.string() + "').read()\n");
}

/// Returns when the fix-up has come to the FIFO; it goes on when the handle is closed.
int meet_fix_up(const Wheelhouse& house) {
  const int handle = open((house.path() / "fifo").c_str(), O_WRONLY | O_CLOEXEC);
  std::ofstream(house.path() / "passed") << "once";
  return handle;
}

/// `reason` without the room a disk has: others write to it between two looks.
std::string without_what_is_free(const std::string& reason) {
  return std::regex_replace(reason, std::regex(" has [0-9]+ MB free"), " has too little free");
}

std::string failure_of(const Wheelhouse& house, const EnvironmentRecipe& recipe) {
  const auto made = house.obtain(recipe);
  REQUIRE_FALSE(made);
  CHECK_FALSE(made.error().interrupted);
  CHECK_FALSE(EnvironmentStore(house.root()).find(recipe));
  CHECK(entries_of(house.root() / ".making") == 0);
  return made.error().reason;
}

}  // namespace

TEST_CASE("a lock holds packages with their versions, and nothing that pip would take for more",
          "[environment][error]") {
  Wheelhouse house;
  house.add("tiny", "1.0");
  for (const std::string hostile : {"--index-url=http://localhost:9/", "-rlist.txt", "./tiny", "tiny @ file:///tiny",
                                    "tiny==1.0 --pre", "tiny", ""}) {
    house.options.lock = {"tiny==1.0", hostile};
    CHECK(failure_of(house, Wheelhouse::recipe({"tiny"}))
              .starts_with("tiny-1.0: the lock's '" + hostile + "' is no package with its version"));
  }
}

TEST_CASE("an installation that was killed leaves nothing that counts, and can be done again", "[environment][error]") {
  Wheelhouse house;
  house.add("tiny", "1.0");
  add_waiting_fix_up(house);
  EnvironmentRecipe recipe = Wheelhouse::recipe({"tiny"});
  recipe.fix_ups = {"wait"};
  const pid_t installer = fork();
  REQUIRE(installer >= 0);
  if (installer == 0) {
    house.options.progress = nullptr;
    (void)house.obtain(recipe);
    _exit(0);
  }
  const int handle = meet_fix_up(house);
  REQUIRE(kill(installer, SIGKILL) == 0);
  REQUIRE(waitpid(installer, nullptr, 0) == installer);
  close(handle);
  CHECK(entries_of(house.root() / ".making") == 1);  // nobody could tidy up
  EnvironmentStore store(house.root());
  CHECK(entries_of(house.root() / ".making") == 0);
  CHECK_FALSE(store.find(recipe));
  CHECK(store.list().empty());
  const auto made = store.obtain(recipe, house.places, house.options);
  REQUIRE(made);
  CHECK(store.find(recipe));
}

TEST_CASE("a second installer says that it waits, and takes what the first made", "[environment][error]") {
  Wheelhouse house;
  house.add("tiny", "1.0");
  add_waiting_fix_up(house);
  EnvironmentRecipe recipe = Wheelhouse::recipe({"tiny"});
  recipe.fix_ups = {"wait"};
  InstallOptions quiet = house.options;
  quiet.progress = nullptr;
  std::optional<Environment> first;
  std::jthread installer([&] {
    if (auto made = EnvironmentStore(house.root()).obtain(recipe, house.places, quiet)) first = std::move(*made);
  });
  const int handle = meet_fix_up(house);
  EnvironmentStore store(house.root());
  CHECK(entries_of(house.root() / ".making") == 1);  // what lives is not swept
  CHECK_FALSE(store.remove(recipe.name));
  std::vector<std::string> said;
  house.options.progress = [&](std::string_view line) {
    said.emplace_back(line);
    close(handle);  // the first may go on
  };
  const auto second = store.obtain(recipe, house.places, house.options);
  installer.join();
  CHECK(said == std::vector<std::string>{"tiny-1.0: another process installs or removes it now; waiting for it"});
  REQUIRE(first);
  REQUIRE(second);
  CHECK(first->installed_now);
  CHECK_FALSE(second->installed_now);
  CHECK(second->folder == first->folder);
}

TEST_CASE("a stop ends an installation", "[environment][error]") {
  Wheelhouse house;
  house.add("tiny", "1.0");
  add_waiting_fix_up(house);
  EnvironmentRecipe recipe = Wheelhouse::recipe({"tiny"});
  recipe.fix_ups = {"wait"};
  std::stop_source stop;
  int handle = -1;  // open until the end: the fix-up would wait for ever
  std::jthread stopper([&] {
    handle = meet_fix_up(house);
    stop.request_stop();
  });
  EnvironmentStore store(house.root());
  const auto made = store.obtain(recipe, house.places, house.options, stop.get_token());
  stopper.join();
  close(handle);
  REQUIRE_FALSE(made);
  CHECK(made.error().interrupted);
  CHECK(entries_of(house.root() / ".making") == 0);
}

TEST_CASE("each thing that goes wrong in an installation is a sentence", "[environment][error][thorough]") {
  Wheelhouse house;
  EnvironmentRecipe recipe = Wheelhouse::recipe({"tiny"});
  SECTION("a package that vanished") {
    CHECK(failure_of(house, recipe).starts_with("tiny-1.0: the package index has no tiny for this Python"));
  }
  SECTION("a damaged package") {
    std::ofstream(house.wheels() / "tiny-1.0-py3-none-any.whl") << "no wheel at all";
    CHECK(failure_of(house, recipe).starts_with("tiny-1.0: a package is damaged: "));
  }
  SECTION("an import that fails") {
    house.add("tiny", "1.0", "raise RuntimeError('no such processor')");
    CHECK(failure_of(house, recipe).starts_with("tiny-1.0: import tiny fails: RuntimeError: no such processor"));
  }
  SECTION("a fix-up that fails") {
    house.add("tiny", "1.0");
    house.add_fix_up("broken", "print('a line')\nprint('broken: there is no gcc')\nraise SystemExit(1)");
    recipe.fix_ups = {"broken"};
    CHECK(failure_of(house, recipe).starts_with("tiny-1.0: the fix-up broken failed: broken: there is no gcc"));
  }
  SECTION("no network") {
    unsetenv("PIP_NO_INDEX");
    setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple", 1);  // the port of `discard`: nobody listens
    setenv("PIP_RETRIES", "1", 1);
    CHECK(failure_of(house, recipe).starts_with("tiny-1.0: the package index cannot be reached"));
    unsetenv("PIP_INDEX_URL");
    unsetenv("PIP_RETRIES");
  }
  SECTION("too little time") {
    house.options.deadline = std::chrono::seconds(0);
    CHECK(failure_of(house, recipe).contains("took longer than allowed"));
  }
}

TEST_CASE("a full disk is said to be full", "[environment][error]") {
  Wheelhouse house;
  house.add("tiny", "1.0");
  fs::create_directories(house.root());
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {  // a disk of its own, three megabytes: less than pip
    if (!test::mount_small_disk(house.root(), "3m").empty()) _exit(77);
    const auto made = house.obtain(Wheelhouse::recipe({"tiny"}));
    _exit(!made && made.error().no_room && made.error().reason.contains("is full: free some space") ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) SKIP("this user cannot mount a small disk");
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("what this machine cannot have is unavailable, with the reason", "[environment][error]") {
  Wheelhouse house;
  house.add("tiny", "1.0");
  EnvironmentRecipe recipe = Wheelhouse::recipe({"tiny"});
  EnvironmentStore store(house.root());
  CHECK_FALSE(store.obstacle(recipe, house.places, house.options));
  bool unavailable = true;
  std::string sentence;
  SECTION("no such Python") {
    recipe.python = "==3.2";
    sentence = "needs Python ==3.2; this machine has ";
  }
  SECTION("another processor") {
    recipe.needed_isa = {"sse99"};
    sentence = "needs a processor with sse99";
  }
  SECTION("a program that is missing") {
    recipe.needed_commands = {"sh", "no-such-program"};
    sentence = "needs the program no-such-program; install it";
  }
  SECTION("a fix-up that is missing") {
    recipe.fix_ups = {"gone"};
    sentence = "its fix-up is not there: ";
    unavailable = false;
  }
  SECTION("a disk that is too small") {
    recipe.disk_bytes = std::int64_t{1} << 60;
    sentence = "needs 1152921504606 MB";
    unavailable = false;
  }
  SECTION("a recipe of another kind") {
    recipe.kind = RecipeKind::Native;
    sentence = "nothing is installed for a recipe of this kind";
    unavailable = false;
  }
  const auto obstacle = store.obstacle(recipe, house.places, house.options);
  REQUIRE(obstacle);
  CHECK(obstacle->reason.starts_with("tiny-1.0: " + sentence));
  CHECK(obstacle->unavailable == unavailable);
  const auto made = store.obtain(recipe, house.places, house.options);
  REQUIRE_FALSE(made);
  CHECK(without_what_is_free(made.error().reason) == without_what_is_free(obstacle->reason));
  CHECK(made.error().unavailable == unavailable);
  CHECK(house.said.empty());  // nothing was begun
}

}  // namespace nocturne::measure
