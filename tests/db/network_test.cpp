// A database on a network file system: its journal, its copies for readers, and how it is made smaller.

#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sqlite3.h>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "db/file_system.hpp"
#include "db/writer_lease.hpp"
#include "tests/db/child.hpp"
#include "tests/db/network_fixture.hpp"

using namespace nocturne::db;
using namespace nocturne::db::test;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("network file systems are known by their number, those in user space by how they are mounted", "[db]") {
  CHECK(classify_file_system(0x6969, "") == FileSystem{.type = "nfs", .remote = true});
  CHECK(classify_file_system(0xFF534D42, "").type == "cifs");
  CHECK(classify_file_system(0x0BD00BD0, "").type == "lustre");
  CHECK(classify_file_system(0x01021997, "").remote);
  CHECK_FALSE(classify_file_system(0xEF53, "").remote);      // ext4
  CHECK_FALSE(classify_file_system(0x01021994, "").remote);  // tmpfs
  constexpr std::uint32_t fuse = 0x65735546;
  CHECK(classify_file_system(fuse, "fuse.sshfs") == FileSystem{.type = "fuse.sshfs", .remote = true});
  CHECK(classify_file_system(fuse, "fuse.something-new").remote);
  CHECK(classify_file_system(fuse, "").remote);
  CHECK_FALSE(classify_file_system(fuse, "fuseblk").remote);
  CHECK_FALSE(classify_file_system(fuse, "fuse.fuse-overlayfs").remote);

  std::istringstream table(
      "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
      "40 27 0:45 / /home/a\\040b rw master:1 shared:2 - fuse.sshfs host:/home rw\n"
      "41 27 0:45 / /mnt rw - fuse.rclone remote: rw\n"
      "torn\n");
  CHECK(mounted_as(table, 0, 45) == "fuse.rclone");
  std::istringstream again("40 27 0:45 / /home rw master:1 - fuse.sshfs host:/home rw\n");
  CHECK(mounted_as(again, 0, 46).empty());
  CHECK_FALSE(file_system_of("/proc/self").remote);
  CHECK_FALSE(file_system_of("/proc/none/at/all").remote);
}

TEST_CASE("on a network file system there is a rollback journal, and a line that says so", "[db]") {
  const TemporaryFolder folder;
  const auto path = folder / "n.db";
  {
    Store store = open(path);  // in WAL mode, and moved there later
    store.append_event({.what = "before"});
    CHECK(store.notice().empty());
  }
  {
    Store store = open_on_nfs(path);
    store.append_event({.what = "there"});
    CHECK_FALSE(std::filesystem::exists(path.string() + "-wal"));
    CHECK_THAT(store.notice(), ContainsSubstring(path.string()) && ContainsSubstring("network file system (nfs)") &&
                                   ContainsSubstring("this program alone writes it"));
  }
  const std::string header = read_bytes(path).substr(18, 2);  // https://www.sqlite.org/fileformat2.html, 1.3
  CHECK(header == "\x01\x01");
  CHECK_FALSE(std::filesystem::exists(writer_lease_file(path)));
  const Store back = open(path);  // and moved back
  CHECK(read_events(back) == std::vector<std::string>{"before", "there"});
  CHECK(query_number(path, "SELECT journal_mode = 'wal' FROM pragma_journal_mode") == 1);
}

namespace {

// What happens as the next VACUUM begins; SQLite calls a plain function.
std::function<void()> at_vacuum;

int on_statement_traced(unsigned, void*, void*, void* text) {
  if (at_vacuum && std::string_view(static_cast<const char*>(text)).starts_with("VACUUM"))
    std::exchange(at_vacuum, nullptr)();
  return 0;
}

int trace_statements(sqlite3* connection, char**, const sqlite3_api_routines*) {
  return sqlite3_trace_v2(connection, SQLITE_TRACE_STMT, on_statement_traced, nullptr);
}

/// Every connection that is opened meanwhile calls at_vacuum.
class TracedVacuum {
 public:
  TracedVacuum() { sqlite3_auto_extension(reinterpret_cast<void (*)()>(trace_statements)); }
  TracedVacuum(const TracedVacuum&) = delete;
  TracedVacuum& operator=(const TracedVacuum&) = delete;
  ~TracedVacuum() {
    sqlite3_cancel_auto_extension(reinterpret_cast<void (*)()>(trace_statements));
    at_vacuum = nullptr;
  }
};

}  // namespace

TEST_CASE("compacting changes nothing once another writer has come, before it or in its midst", "[db]") {
  const TracedVacuum traced;
  const TemporaryFolder folder;
  const auto path = folder / "n.db";
  const auto others_come = [&path] {
    std::filesystem::remove(writer_lease_file(path));
    leave_lease_behind(path);
  };
  Store store = open_on_nfs(path);
  const auto id = store.begin_or_resume_campaign(campaign("c")).id;
  const std::vector<RunRecord> runs = {run("r", 20'000)};
  store.finish_trial(store.reserve_trial(id, reservation(0)), ok_result(1), runs);
  store.remove_campaign(id);
  const std::string before = read_bytes(path);
  SECTION("undisturbed it gives the room back") {
    store.compact();
    CHECK(std::filesystem::file_size(path) < before.size() / 2);
    CHECK(store.integrity_check().empty());
    store.append_event({.what = "goes on"});
    CHECK(read_events(open_on_nfs(path, Mode::ReadOnly)) == std::vector<std::string>{"goes on"});
  }
  SECTION("another came before") {
    others_come();
    CHECK(error_of([&] { store.compact(); }).code == ErrorCode::Owned);
    CHECK(read_bytes(path) == before);
  }
  SECTION("another came in between") {
    at_vacuum = others_come;
    CHECK(error_of([&] { store.compact(); }).code == ErrorCode::Owned);
    CHECK(!at_vacuum);
    CHECK(read_bytes(path) == before);
  }
  CHECK_FALSE(std::filesystem::exists(path.string() + "-compact"));
}

TEST_CASE("readers have a copy that is whole, and how old it is", "[db]") {
  const TemporaryFolder folder;
  const auto path = folder / "n.db";
  Store writer = open_on_nfs(path);
  const auto handle = writer.begin_or_resume_campaign(campaign("c"));
  writer.append_event({.what = "one"});
  const Store before = open_on_nfs(path, Mode::ReadOnly);
  CHECK(read_events(before) == std::vector<std::string>{"one"});
  REQUIRE(before.copied_unix_ns());
  CHECK_THAT(before.notice(), ContainsSubstring("this is read from a copy that is ") && ContainsSubstring(" s old"));
  const auto trial = writer.reserve_trial(handle.id, reservation(0));
  const std::vector<RunRecord> runs = {run("r", 500)};
  writer.finish_trial(trial, ok_result(1), runs);
  CHECK(before.list_trials().empty());  // of one moment, as long as it is open
  CHECK(before.integrity_check().empty());
  const Store after = open_on_nfs(path, Mode::ReadOnly);
  CHECK(after.load_trial(trial).runs.size() == 1);
  CHECK(*after.copied_unix_ns() >= *before.copied_unix_ns());
  CHECK(after.integrity_check().empty());
}

TEST_CASE("a copy is made after so many commits, and at the end", "[db]") {
  const TemporaryFolder folder;
  const auto path = folder / "n.db";
  StoreOptions options = on_nfs();
  options.network.copy_after_commits = 3;
  options.network.copy_after_time = 1h;
  const auto seen = [&] { return read_events(open_on_nfs(path, Mode::ReadOnly)).size(); };
  {
    Store writer = Store::open(path, Mode::ReadWrite, options);
    CHECK(seen() == 0);
    for (int i = 0; i < 2; ++i) writer.append_event({.what = "more"});
    CHECK(seen() == 0);
    writer.append_event({.what = "more"});
    CHECK(seen() == 3);
    writer.append_event({.what = "more"});
    CHECK(seen() == 3);
  }
  CHECK(seen() == 4);
}

TEST_CASE("where there is no room for a copy readers keep the one before, and half a copy takes no room", "[db]") {
  const TemporaryFolder folder;
  Child child("nfs:fill-copy", folder / "n.db", {"c"});
  const std::string said = child.rest();
  if (said.starts_with("skip")) SKIP(said);
  CHECK(said ==
        "room: written 40, seen 40, problems 0, half a copy 0\nfull: written 42, seen 40, problems 0, half a copy 0\n"
        "room again: written 43, seen 43, problems 0, half a copy 0\n");
}

TEST_CASE("a database that was moved to a network file system is read where it is, unless it is half done", "[db]") {
  const TemporaryFolder folder;
  const auto path = folder / "n.db";
  {
    Store store = open(path);
    store.append_event({.what = "moved"});
  }
  CHECK(read_events(open_on_nfs(path, Mode::ReadOnly)) == std::vector<std::string>{"moved"});
  std::ofstream(path.string() + "-journal") << "half done";
  CHECK_THAT(error_of([&] { return open_on_nfs(path, Mode::ReadOnly); }).what(),
             ContainsSubstring("Once opened for writing"));
}

TEST_CASE("a writer on a network file system that is killed at any statement loses nothing that was stored", "[db]") {
  int statement = 0;  // 0: while it commits
  for (bool survived = false; !survived; ++statement) {
    CAPTURE(statement);
    const TemporaryFolder folder;
    const auto path = folder / "n.db";
    Child child("nfs:die-inside", path, {"c", std::to_string(statement)});
    survived = child.rest() == "survived\n";
    REQUIRE((survived || child.wait().signal == SIGKILL));
    if (survived) child.wait();
    CHECK(open_on_nfs(path, Mode::ReadOnly).integrity_check().empty());  // what readers have is whole
    Store store = open_on_nfs(path);
    CHECK(store.integrity_check().empty());
    const auto handle =
        store.begin_or_resume_campaign({.name = "c", .identity = "identity-of-c", .strategy = "random", .seed = 1});
    CHECK(store.recover_interrupted(handle.id).trials.size() == (survived ? 0 : 1));
    CHECK(store.load_numbered_trial(handle.id, 0).runs == (survived ? 1 : 0));
  }
  CHECK(statement > 15);
}
