// A database on a network file system, whose locks may lie: one writer, and a copy for everybody else.

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Transaction.h>
#include <sqlite3.h>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "db/file_system.hpp"
#include "db/network_writer.hpp"
#include "db/writer_lease.hpp"
#include "tests/db/child.hpp"
#include "tests/db/faulty_disk.hpp"
#include "tests/db/fixture.hpp"

using namespace nocturne::db;
using namespace nocturne::db::test;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;

namespace {

StoreOptions on_nfs() {
  StoreOptions options;
  options.busy_timeout = 20ms;
  options.network.file_system = [](const std::filesystem::path&) { return FileSystem{.type = "nfs", .remote = true}; };
  options.network.lease = {.renewal = 5ms, .patience = 60ms};
  options.network.copy_after_commits = 1;
  options.network.copying_share = 0;
  return options;
}

Store open_on_nfs(const std::filesystem::path& path, Mode mode = Mode::ReadWrite) {
  return must(Store::open(path, mode, on_nfs()));
}

std::vector<std::string> read_events(const Store& store) {
  std::vector<std::string> events;
  for (const EventRecord& event : must(store.events({}))) events.push_back(event.what);
  return events;
}

ProcessIdentity of_another_machine() {
  return {.pid = 4711, .start_ticks = 1, .boot_id = "another boot", .pid_namespace = "pid:[1]", .host = "node7"};
}

/// A lease as a machine leaves it that lost its power.
void leave_lease_behind(const std::filesystem::path& path, const ProcessIdentity& who = of_another_machine()) {
  std::string bytes;
  {
    const auto lease = must(WriterLease::take(path, {.renewal = 1h, .patience = 60ms}, who));
    bytes = read_bytes(writer_lease_file(path));
  }
  std::ofstream(writer_lease_file(path), std::ios::binary) << bytes;
}

}  // namespace

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
    must(store.append_event({.what = "before"}));
    CHECK(store.notice().empty());
  }
  {
    Store store = open_on_nfs(path);
    must(store.append_event({.what = "there"}));
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

TEST_CASE("where every lock is granted to everybody, two writers still do not both write", "[db]") {
  FaultyDisk disk;
  disk.grant_every_lock();
  const TemporaryFolder folder;
  const auto path = folder / "n.db";
  {
    // So do they lie: two transactions that exclude each other.
    execute_sql(folder / "lies.db", "CREATE TABLE t (a)");
    SQLite::Database one((folder / "lies.db").string(), SQLite::OPEN_READWRITE);
    SQLite::Database two((folder / "lies.db").string(), SQLite::OPEN_READWRITE);
    const SQLite::Transaction first(one, SQLite::TransactionBehavior::EXCLUSIVE);
    REQUIRE_NOTHROW(SQLite::Transaction(two, SQLite::TransactionBehavior::EXCLUSIVE));
  }
  Store first = open_on_nfs(path);
  must(first.append_event({.what = "of the first"}));
  const auto second = Store::open(path, Mode::ReadWrite, on_nfs());
  REQUIRE(!second);
  CHECK(second.error().code == ErrorCode::Owned);
  CHECK_THAT(second.error().message, ContainsSubstring("process " + std::to_string(::getpid())) &&
                                         ContainsSubstring("one program write at a time"));
  must(first.append_event({.what = "of the first again"}));
  CHECK(must(first.integrity_check()).empty());
  first = open_on_nfs(folder / "other.db");  // ends the first
  Store third = open_on_nfs(path);
  CHECK(read_events(third) == std::vector<std::string>{"of the first", "of the first again"});
}

TEST_CASE("a writer that was killed holds nobody up on its own machine", "[db]") {
  const TemporaryFolder folder;
  const auto path = folder / "n.db";
  Child holder("nfs:hold", path, {"c"});
  REQUIRE(holder.line() == "held");
  StoreOptions patient = on_nfs();
  patient.network.lease.patience = 1h;  // nothing here may wait for that
  const auto refused = Store::open(path, Mode::ReadWrite, patient);
  REQUIRE(!refused);
  CHECK_THAT(refused.error().message, ContainsSubstring("process " + std::to_string(holder.pid())));
  holder.kill();
  siginfo_t ended{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(holder.pid()), &ended, WEXITED | WNOWAIT) == 0);
  Store store = must(Store::open(path, Mode::ReadWrite, patient));
  must(store.append_event({.what = "goes on"}));
}

TEST_CASE("a writer elsewhere is dead when it is silent, and alive as long as it counts", "[db]") {
  const TemporaryFolder folder;
  const auto path = folder / "n.db";
  SECTION("silent") {
    leave_lease_behind(path);
    Store store = open_on_nfs(path);
    must(store.append_event({.what = "taken over"}));
  }
  SECTION("silent, and who waits is told for whom and until when") {
    leave_lease_behind(path);
    StoreOptions options = on_nfs();
    std::vector<LeaseWait> waits;
    options.network.lease.waiting = [&waits](const LeaseWait& wait) { waits.push_back(wait); };
    Store store = must(Store::open(path, Mode::ReadWrite, options));
    must(store.append_event({.what = "taken over"}));
    REQUIRE(waits.size() == 1);
    CHECK(waits[0].writer == "process 4711 on 'node7'");
    CHECK(waits[0].lease == writer_lease_file(path));
    CHECK(waits[0].patience == 60ms);
  }
  SECTION("silent, and removed by hand while somebody waits") {
    leave_lease_behind(path);
    StoreOptions options = on_nfs();
    options.network.lease.patience = 1h;
    options.network.lease.waiting = [](const LeaseWait& wait) { std::filesystem::remove(wait.lease); };
    Store store = must(Store::open(path, Mode::ReadWrite, options));
    must(store.append_event({.what = "taken over"}));
  }
  SECTION("torn by its end") {
    std::ofstream(writer_lease_file(path)) << "{\"token\": \"../../x";
    Store store = open_on_nfs(path);
    must(store.append_event({.what = "taken over"}));
  }
  SECTION("counting") {
    const auto lease = must(WriterLease::take(path, {.renewal = 2ms, .patience = 60ms}, of_another_machine()));
    StoreOptions patient = on_nfs();
    patient.network.lease.patience = 1h;  // ends with the first count
    const auto refused = Store::open(path, Mode::ReadWrite, patient);
    REQUIRE(!refused);
    CHECK(refused.error().code == ErrorCode::Owned);
    CHECK_THAT(refused.error().message, ContainsSubstring("process 4711 on 'node7'"));
    CHECK_FALSE(lease->lost());
  }
  SECTION("killed while it took over from a silent one") {
    leave_lease_behind(path);
    const std::string bytes = read_bytes(writer_lease_file(path));
    const std::size_t token = bytes.find("\"token\":\"") + 9;
    const auto turn = writer_lease_file(path).string() + "-after-" + bytes.substr(token, 32);
    std::ofstream(turn) << bytes;
    Store store = open_on_nfs(path);
    must(store.append_event({.what = "taken over"}));
    CHECK_FALSE(std::filesystem::exists(turn));
  }
  for (const auto& left : std::filesystem::directory_iterator(folder.path())) {
    CHECK_THAT(left.path().filename().string(), !ContainsSubstring("-after-"));
  }
}

TEST_CASE("a writer whose machine was started again holds nobody up there, and elsewhere as long as any other",
          "[db]") {
  const TemporaryFolder folder;
  const auto path = folder / "n.db";
  ProcessIdentity before = of_another_machine();
  before.machine = "cafe";
  leave_lease_behind(path, before);
  ProcessIdentity after = before;
  after.boot_id = "the next boot";
  CHECK(ended_with_its_boot(before, after));
  int waits = 0;
  LeaseTimes times{.renewal = 1h, .patience = 60ms, .waiting = [&waits](const LeaseWait&) { ++waits; }};
  SECTION("there") {
    times.patience = 1h;
    must(WriterLease::take(path, times, after));
    CHECK(waits == 0);
  }
  SECTION("on a machine of the same name") {
    after.machine = "babe";
    CHECK_FALSE(ended_with_its_boot(before, after));
    must(WriterLease::take(path, times, after));
    CHECK(waits == 1);
  }
  SECTION("in containers, which cannot be told apart") {
    before.machine.clear();
    after.machine.clear();
    CHECK_FALSE(ended_with_its_boot(before, after));
  }
  SECTION("on a copy of the machine that has another name") {
    after.host = "node8";
    CHECK_FALSE(ended_with_its_boot(before, after));
  }
}

TEST_CASE("of many that want the lease of a dead writer one gets it", "[db]") {
  const TemporaryFolder folder;
  for (int round = 0; round < 10; ++round) {
    const auto path = folder / ("n" + std::to_string(round) + ".db");
    leave_lease_behind(path);
    std::array<std::unique_ptr<WriterLease>, 6> leases;
    std::atomic<int> taken = 0;
    {
      std::vector<std::jthread> wanting;
      for (auto& lease : leases) {
        wanting.emplace_back([&lease, &taken, &path] {
          auto result = WriterLease::take(path, {.renewal = 5ms, .patience = 30ms});
          if (!result) return;
          lease = std::move(*result);
          ++taken;
        });
      }
    }
    CHECK(taken == 1);
    for (const auto& lease : leases) CHECK((!lease || !lease->lost()));
  }
}

TEST_CASE("a writer whose lease was taken away writes nothing more, and does not take it back", "[db]") {
  const TemporaryFolder folder;
  const auto path = folder / "n.db";
  std::string others;
  {
    Store store = open_on_nfs(path);
    must(store.append_event({.what = "mine"}));
    // As after a long sleep of this machine: another one found it silent.
    std::filesystem::remove(writer_lease_file(path));
    leave_lease_behind(path);
    others = read_bytes(writer_lease_file(path));
    const auto stored = store.append_event({.what = "not mine any more"});
    REQUIRE(!stored);
    CHECK(stored.error().code == ErrorCode::Owned);
    CHECK_THAT(stored.error().message, ContainsSubstring("process 4711 on 'node7' took over"));
  }
  CHECK(read_bytes(writer_lease_file(path)) == others);
  CHECK(read_events(open_on_nfs(path, Mode::ReadOnly)) == std::vector<std::string>{"mine"});
}

namespace {

// What happens as the next VACUUM begins; SQLite calls a plain function.
std::function<void()> at_vacuum;

int on_statement_traced(unsigned, void*, void*, void* text) {
  if (at_vacuum && std::string_view(static_cast<const char*>(text)).starts_with("VACUUM")) {
    std::exchange(at_vacuum, nullptr)();
  }
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
  const auto id = must(store.begin_or_resume_campaign(campaign("c"))).id;
  const std::vector<RunRecord> runs = {run("r", 20'000)};
  must(store.finish_trial(must(store.claim_trial(id, claim(0))), ok_result(1), runs));
  must(store.remove_campaign(id));
  const std::string before = read_bytes(path);
  SECTION("undisturbed it gives the room back") {
    must(store.compact());
    CHECK(std::filesystem::file_size(path) < before.size() / 2);
    CHECK(must(store.integrity_check()).empty());
    must(store.append_event({.what = "goes on"}));
    CHECK(read_events(open_on_nfs(path, Mode::ReadOnly)) == std::vector<std::string>{"goes on"});
  }
  SECTION("another came before") {
    others_come();
    const auto compacted = store.compact();
    REQUIRE(!compacted);
    CHECK(compacted.error().code == ErrorCode::Owned);
    CHECK(read_bytes(path) == before);
  }
  SECTION("another came in between") {
    at_vacuum = others_come;
    const auto compacted = store.compact();
    CHECK(!at_vacuum);
    REQUIRE(!compacted);
    CHECK(compacted.error().code == ErrorCode::Owned);
    CHECK(read_bytes(path) == before);
  }
  CHECK_FALSE(std::filesystem::exists(path.string() + "-compact"));
}

TEST_CASE("readers have a copy that is whole, and how old it is", "[db]") {
  const TemporaryFolder folder;
  const auto path = folder / "n.db";
  Store writer = open_on_nfs(path);
  const auto handle = must(writer.begin_or_resume_campaign(campaign("c")));
  must(writer.append_event({.what = "one"}));
  const Store before = open_on_nfs(path, Mode::ReadOnly);
  CHECK(read_events(before) == std::vector<std::string>{"one"});
  REQUIRE(before.copied_unix_ns());
  CHECK_THAT(before.notice(), ContainsSubstring("this is read from a copy that is ") && ContainsSubstring(" s old"));
  const auto trial = must(writer.claim_trial(handle.id, claim(0)));
  const std::vector<RunRecord> runs = {run("r", 500)};
  must(writer.finish_trial(trial, ok_result(1), runs));
  CHECK(must(before.list_trials()).empty());  // of one moment, as long as it is open
  CHECK(must(before.integrity_check()).empty());
  const Store after = open_on_nfs(path, Mode::ReadOnly);
  CHECK(must(after.load_trial(trial)).runs.size() == 1);
  CHECK(*after.copied_unix_ns() >= *before.copied_unix_ns());
  CHECK(must(after.integrity_check()).empty());
}

TEST_CASE("a copy is made after so many commits, and at the end", "[db]") {
  const TemporaryFolder folder;
  const auto path = folder / "n.db";
  StoreOptions options = on_nfs();
  options.network.copy_after_commits = 3;
  options.network.copy_after_time = 1h;
  const auto seen = [&] { return read_events(open_on_nfs(path, Mode::ReadOnly)).size(); };
  {
    Store writer = must(Store::open(path, Mode::ReadWrite, options));
    CHECK(seen() == 0);
    for (int i = 0; i < 2; ++i) must(writer.append_event({.what = "more"}));
    CHECK(seen() == 0);
    must(writer.append_event({.what = "more"}));
    CHECK(seen() == 3);
    must(writer.append_event({.what = "more"}));
    CHECK(seen() == 3);
  }
  CHECK(seen() == 4);
}

TEST_CASE("a database that was moved to a network file system is read where it is, unless it is half done", "[db]") {
  const TemporaryFolder folder;
  const auto path = folder / "n.db";
  {
    Store store = open(path);
    must(store.append_event({.what = "moved"}));
  }
  CHECK(read_events(open_on_nfs(path, Mode::ReadOnly)) == std::vector<std::string>{"moved"});
  std::ofstream(path.string() + "-journal") << "half done";
  const auto refused = Store::open(path, Mode::ReadOnly, on_nfs());
  REQUIRE(!refused);
  CHECK_THAT(refused.error().message, ContainsSubstring("Once opened for writing"));
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
    CHECK(must(open_on_nfs(path, Mode::ReadOnly).integrity_check()).empty());  // what readers have is whole
    Store store = open_on_nfs(path);
    CHECK(must(store.integrity_check()).empty());
    const auto handle = must(
        store.begin_or_resume_campaign({.name = "c", .identity = "identity-of-c", .strategy = "random", .seed = 1}));
    CHECK(must(store.recover_interrupted(handle.id)).trials.size() == (survived ? 0 : 1));
    CHECK(store.load_run("c-0").has_value() == survived);
  }
  CHECK(statement > 15);
}
