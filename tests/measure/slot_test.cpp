#include "measure/run/slot.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/temporary_folder.hpp"

using namespace nocturne;
using namespace nocturne::measure;
using Catch::Matchers::ContainsSubstring;

namespace {

// Another process that holds the slot until it is killed.
pid_t fork_holder(const Slot& slot, const std::filesystem::path& folder) {
  std::array<int, 2> ready{};
  REQUIRE(::pipe(ready.data()) == 0);
  const pid_t holder = ::fork();
  if (holder == 0) {
    const auto lock = SlotLock::try_take(slot, "the other", folder);
    (void)!::write(ready[1], lock ? "y" : "n", 1);
    for (;;) ::pause();
  }
  char answer = 0;
  REQUIRE(::read(ready[0], &answer, 1) == 1);
  REQUIRE(answer == 'y');
  ::close(ready[0]);
  ::close(ready[1]);
  return holder;
}

void kill_holder(pid_t holder) {
  ::kill(holder, SIGKILL);
  ::waitpid(holder, nullptr, 0);
}

}  // namespace

TEST_CASE("overlapping slots exclude each other between processes, disjoint ones do not", "[slot]") {
  const test::TemporaryFolder folder;
  const pid_t holder = fork_holder({{2, 1}}, folder.path());
  const auto refused = SlotLock::try_take({{2, 3}}, "ours", folder.path());
  REQUIRE_FALSE(refused);
  const SlotHolder& who = refused.error().holder.value();
  CHECK(who.cpu == 2);
  CHECK(who.pid == holder);
  CHECK(who.campaign == "the other");
  CHECK_THAT(describe(who), ContainsSubstring("CPU 2 is measured by campaign 'the other' (process "));
  CHECK(SlotLock::try_take({{0, 3}}, "ours", folder.path()));
  kill_holder(holder);  // the kernel gives the slot back
  CHECK(SlotLock::try_take({{2, 3}}, "ours", folder.path()));
}

TEST_CASE("of a holder that is stopped it is said, and how it is continued or ended", "[slot]") {
  const test::TemporaryFolder folder;
  const pid_t holder = fork_holder({{2}}, folder.path());
  const auto seen = [&] { return SlotLock::try_take({{2}}, "ours", folder.path()).error().holder.value(); };
  CHECK_FALSE(seen().stopped);
  REQUIRE(::kill(holder, SIGSTOP) == 0);
  REQUIRE(::waitpid(holder, nullptr, WUNTRACED) == holder);
  CHECK(seen().stopped);
  const std::string pid = std::to_string(holder);
  CHECK_THAT(describe(seen()), ContainsSubstring("that process is stopped: 'kill -CONT " + pid +
                                                 "' continues it, 'kill -KILL " + pid + "' ends it"));
  REQUIRE(::kill(holder, SIGCONT) == 0);
  REQUIRE(::waitpid(holder, nullptr, WCONTINUED) == holder);
  CHECK_FALSE(seen().stopped);
  kill_holder(holder);
}

TEST_CASE("one who waits hears that the holder was stopped meanwhile, and gets the slot when it is ended", "[slot]") {
  const test::TemporaryFolder folder;
  const pid_t holder = fork_holder({{2}}, folder.path());
  std::vector<bool> told;
  const auto lock = SlotLock::take(
      {{2}}, "ours",
      [&](const SlotHolder& who) {
        told.push_back(who.stopped);
        if (told.size() == 1) {
          ::kill(holder, SIGSTOP);
          ::waitpid(holder, nullptr, WUNTRACED);
        } else {
          kill_holder(holder);
        }
      },
      {}, folder.path());
  CHECK(lock);
  CHECK(told == std::vector{false, true});
}

TEST_CASE("nobody is told to send signals to a process that only a file names", "[slot]") {
  const test::TemporaryFolder folder;
  const pid_t bystander = fork_holder({{3}}, folder.path());
  REQUIRE(::kill(bystander, SIGSTOP) == 0);
  REQUIRE(::waitpid(bystander, nullptr, WUNTRACED) == bystander);
  const auto lock = SlotLock::try_take({{2}}, "one", folder.path());
  std::ofstream(folder.path() / "cpu-2.lock")
      << R"({"campaign": "a trap", "since_unix_s": 1, "pid": )" << bystander << "}\n";
  const auto refused = SlotLock::try_take({{2}}, "two", folder.path());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().holder->pid == bystander);
  CHECK_FALSE(refused.error().holder->stopped);
  kill_holder(bystander);
}

TEST_CASE("whatever a lock file says of its holder, a terminal can be shown it", "[slot]") {
  const test::TemporaryFolder folder;
  const pid_t holder = fork_holder({{2}}, folder.path());
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    std::ofstream(entry.path()) << R"({"pid": 7, "campaign": "a\u001b]0;owned\u0007\r\n\u009b2J)"
                                << std::string(5000 - 1000, 'x') << R"("})";
  }
  const auto refused = SlotLock::try_take({{2}}, "ours", folder.path());
  REQUIRE_FALSE(refused);
  const std::string said = describe(refused.error().holder.value());
  CHECK_THAT(said, ContainsSubstring("campaign 'a?]0;owned???"));
  CHECK(std::ranges::all_of(said, [](unsigned char byte) { return byte >= 0x20 && byte < 0x7F; }));
  CHECK(said.size() < 250);
  kill_holder(holder);
}

TEST_CASE("a holder that states an impossible time is described all the same", "[slot]") {
  for (const std::int64_t since : {INT64_MIN, INT64_MAX}) {
    CHECK_THAT(describe(SlotHolder{.cpu = 3, .pid = 7, .campaign = "odd", .since_unix_s = since}),
               ContainsSubstring("CPU 3 is measured by campaign 'odd' (process 7) since "));
  }
}

TEST_CASE("one process cannot hold a slot twice, and gives it back when the lock dies", "[slot]") {
  const test::TemporaryFolder folder;
  {
    auto first = SlotLock::try_take({{0}}, "one", folder.path());
    REQUIRE(first);
    CHECK_FALSE(SlotLock::try_take({{0}}, "two", folder.path()));
    const SlotLock moved = std::move(*first);
    CHECK_FALSE(SlotLock::try_take({{0}}, "two", folder.path()));
    CHECK(moved.cpus() == std::vector{0});
  }
  CHECK(SlotLock::try_take({{0}}, "two", folder.path()));
}

TEST_CASE("a refused slot leaves nothing locked behind", "[slot]") {
  const test::TemporaryFolder folder;
  const auto held = SlotLock::try_take({{5}}, "one", folder.path());
  CHECK_FALSE(SlotLock::try_take({{4, 5}}, "two", folder.path()));
  CHECK(SlotLock::try_take({{4}}, "three", folder.path()));
}

TEST_CASE("waiting says who holds the slot and ends when it is free", "[slot]") {
  const test::TemporaryFolder folder;
  const pid_t holder = fork_holder({{0}}, folder.path());
  int told = 0;
  const auto lock = SlotLock::take(
      {{0}}, "ours",
      [&](const SlotHolder& who) {
        ++told;
        CHECK(who.pid == holder);
        kill_holder(holder);
      },
      {}, folder.path());
  CHECK(lock);
  CHECK(told == 1);
}

TEST_CASE("waiting can be stopped", "[slot]") {
  const test::TemporaryFolder folder;
  const auto held = SlotLock::try_take({{0}}, "one", folder.path());
  std::stop_source stop;
  const auto lock =
      SlotLock::take({{0}}, "two", [&](const SlotHolder&) { stop.request_stop(); }, stop.get_token(), folder.path());
  REQUIRE_FALSE(lock);
  CHECK_THAT(lock.error().error, ContainsSubstring("interrupted"));
}

TEST_CASE("lock files are open to everybody whatever the umask, and links are not followed", "[slot]") {
  const test::TemporaryFolder folder;
  const mode_t mask = ::umask(077);
  const auto lock = SlotLock::try_take({{0}}, "one", folder.path() / "slots");
  ::umask(mask);
  REQUIRE(lock);
  struct stat info{};
  REQUIRE(::stat((folder.path() / "slots/cpu-0.lock").c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0666);
  REQUIRE(::stat((folder.path() / "slots").c_str(), &info) == 0);
  CHECK((info.st_mode & 07777) == 01777);

  std::ofstream(folder.path() / "precious") << "keep me";
  std::filesystem::create_symlink(folder.path() / "precious", folder.path() / "slots/cpu-1.lock");
  const auto trap = SlotLock::try_take({{1}}, "one", folder.path() / "slots");
  REQUIRE_FALSE(trap);
  CHECK_THAT(trap.error().error, ContainsSubstring("cpu-1.lock"));
  std::string kept;
  std::getline(std::ifstream(folder.path() / "precious"), kept);
  CHECK(kept == "keep me");
}

TEST_CASE("a slot without CPUs is the whole machine", "[slot]") {
  const test::TemporaryFolder folder;
  const auto lock = SlotLock::try_take({}, "one", folder.path());
  REQUIRE(lock);
  CHECK(lock->cpus().size() == static_cast<std::size_t>(::sysconf(_SC_NPROCESSORS_CONF)));
  CHECK_FALSE(SlotLock::try_take({{0}}, "two", folder.path()));
}

TEST_CASE("nonsense in a lock file is not believed", "[slot]") {
  const test::TemporaryFolder folder;
  const auto lock = SlotLock::try_take({{0}}, "one", folder.path());
  std::ofstream(folder.path() / "cpu-0.lock") << R"({"pid":"x","campaign":7})";
  const auto refused = SlotLock::try_take({{0}}, "two", folder.path());
  REQUIRE_FALSE(refused);
  CHECK(describe(refused.error().holder.value()) == "CPU 0 is measured by somebody else");
}
