// One writer on a network file system, whose locks may lie.

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Transaction.h>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "db/writer_lease.hpp"
#include "tests/db/child.hpp"
#include "tests/db/faulty_disk.hpp"
#include "tests/db/network_fixture.hpp"

using namespace nocturne::db;
using namespace nocturne::db::test;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;

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
  first.append_event({.what = "of the first"});
  const Error second = error_of([&] { return open_on_nfs(path); });
  CHECK(second.code == ErrorCode::Owned);
  CHECK_THAT(second.what(), ContainsSubstring("process " + std::to_string(::getpid())) &&
                                ContainsSubstring("one program write at a time"));
  first.append_event({.what = "of the first again"});
  CHECK(first.integrity_check().empty());
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
  CHECK_THAT(error_of([&] { return Store::open(path, Mode::ReadWrite, patient); }).what(),
             ContainsSubstring("process " + std::to_string(holder.pid())));
  holder.kill();
  siginfo_t ended{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(holder.pid()), &ended, WEXITED | WNOWAIT) == 0);
  Store store = Store::open(path, Mode::ReadWrite, patient);
  store.append_event({.what = "goes on"});
}

TEST_CASE("a writer elsewhere is dead when it is silent, and alive as long as it counts", "[db]") {
  const TemporaryFolder folder;
  const auto path = folder / "n.db";
  SECTION("silent") {
    leave_lease_behind(path);
    Store store = open_on_nfs(path);
    store.append_event({.what = "taken over"});
  }
  SECTION("silent, and who waits is told for whom and until when") {
    leave_lease_behind(path);
    StoreOptions options = on_nfs();
    std::vector<LeaseWait> waits;
    options.network.lease.waiting = [&waits](const LeaseWait& wait) { waits.push_back(wait); };
    Store store = Store::open(path, Mode::ReadWrite, options);
    store.append_event({.what = "taken over"});
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
    Store store = Store::open(path, Mode::ReadWrite, options);
    store.append_event({.what = "taken over"});
  }
  SECTION("torn by its end") {
    std::ofstream(writer_lease_file(path)) << "{\"token\": \"../../x";
    Store store = open_on_nfs(path);
    store.append_event({.what = "taken over"});
  }
  SECTION("counting") {
    const auto lease = WriterLease::take(path, {.renewal = 2ms, .patience = 60ms}, of_another_machine());
    StoreOptions patient = on_nfs();
    patient.network.lease.patience = 1h;  // ends with the first count
    const Error refused = error_of([&] { return Store::open(path, Mode::ReadWrite, patient); });
    CHECK(refused.code == ErrorCode::Owned);
    CHECK_THAT(refused.what(), ContainsSubstring("process 4711 on 'node7'"));
    CHECK_FALSE(lease->lost());
  }
  SECTION("killed while it took over from a silent one") {
    leave_lease_behind(path);
    const std::string bytes = read_bytes(writer_lease_file(path));
    const std::size_t token = bytes.find("\"token\":\"") + 9;
    const auto turn = writer_lease_file(path).string() + "-after-" + bytes.substr(token, 32);
    std::ofstream(turn) << bytes;
    Store store = open_on_nfs(path);
    store.append_event({.what = "taken over"});
    CHECK_FALSE(std::filesystem::exists(turn));
  }
  for (const auto& left : std::filesystem::directory_iterator(folder.path()))
    CHECK_THAT(left.path().filename().string(), !ContainsSubstring("-after-"));
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
    CHECK(WriterLease::take(path, times, after) != nullptr);
    CHECK(waits == 0);
  }
  SECTION("on a machine of the same name") {
    after.machine = "babe";
    CHECK_FALSE(ended_with_its_boot(before, after));
    CHECK(WriterLease::take(path, times, after) != nullptr);
    CHECK(waits == 1);
  }
  SECTION("in containers, which cannot be distinguished") {
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
          try {
            lease = WriterLease::take(path, {.renewal = 5ms, .patience = 30ms});
            ++taken;
          } catch (const Error&) {
            // Another was faster.
          }
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
    store.append_event({.what = "mine"});
    // As after a long sleep of this machine: another one found it silent.
    std::filesystem::remove(writer_lease_file(path));
    leave_lease_behind(path);
    others = read_bytes(writer_lease_file(path));
    const Error error = error_of([&] { store.append_event({.what = "not mine any more"}); });
    CHECK(error.code == ErrorCode::Owned);
    CHECK_THAT(error.what(), ContainsSubstring("process 4711 on 'node7' took over"));
  }
  CHECK(read_bytes(writer_lease_file(path)) == others);
  CHECK(read_events(open_on_nfs(path, Mode::ReadOnly)) == std::vector<std::string>{"mine"});
}
