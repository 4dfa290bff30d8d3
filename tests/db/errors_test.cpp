#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Transaction.h>
#include <sqlite3.h>

#include <algorithm>
#include <chrono>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/db/child.hpp"
#include "tests/db/fixture.hpp"

using namespace nocturne::db;
using namespace nocturne::db::test;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("a file that another process keeps locked is named, with what to do", "[db]") {
  const TemporaryFolder folder;
  const auto path = folder / "n.db";
  Store store = Store::open(path, Mode::ReadWrite, {.busy_timeout = std::chrono::milliseconds(20)});
  SQLite::Database other(path.string(), SQLite::OPEN_READWRITE);
  {
    const SQLite::Transaction writing(other, SQLite::TransactionBehavior::IMMEDIATE);
    const Error error = error_of([&] { store.append_event({.what = "too late"}); });
    CHECK(error.code == ErrorCode::Locked);
    CHECK_THAT(error.what(), ContainsSubstring(path.string()) && ContainsSubstring("fuser"));
    CHECK(store.events({}).empty());  // a reader does not wait
  }
  store.append_event({.what = "now"});
}

TEST_CASE("a campaign that is open waits longer for a locked file than other subcommands do", "[db]") {
  const TemporaryFolder folder;
  const auto path = folder / "n.db";
  Store store = Store::open(
      path, Mode::ReadWrite,
      {.busy_timeout = std::chrono::milliseconds(20), .campaign_busy_timeout = std::chrono::milliseconds(80)});
  SQLite::Database other(path.string(), SQLite::OPEN_READWRITE);
  const auto message_when_locked = [&]() -> std::string {
    const SQLite::Transaction writing(other, SQLite::TransactionBehavior::IMMEDIATE);
    const Error error = error_of([&] { store.append_event({.what = "too late"}); });
    CHECK(error.code == ErrorCode::Locked);
    return error.what();
  };
  CHECK_THAT(message_when_locked(), ContainsSubstring("more than 0.02 s"));
  store.begin_or_resume_campaign(campaign("c"));
  const auto began = std::chrono::steady_clock::now();
  CHECK_THAT(message_when_locked(), ContainsSubstring("more than 0.08 s"));
  CHECK(std::chrono::steady_clock::now() - began >= std::chrono::milliseconds(70));
}

TEST_CASE("who waits for a locked file is told so, and may give up early", "[db]") {
  const TemporaryFolder folder;
  const auto path = folder / "n.db";
  std::vector<std::chrono::milliseconds> limits;
  Store store = Store::open(path, Mode::ReadWrite,
                            {.busy_timeout = std::chrono::milliseconds(20),
                             .campaign_busy_timeout = std::chrono::hours(1),
                             .waiting = [&](const LockWait& wait) {
                               CHECK(wait.database == path);
                               limits.push_back(wait.limit);
                               return wait.waited < std::chrono::milliseconds(60);
                             }});
  SQLite::Database other(path.string(), SQLite::OPEN_READWRITE);
  store.begin_or_resume_campaign(campaign("c"));
  limits.clear();
  const SQLite::Transaction writing(other, SQLite::TransactionBehavior::IMMEDIATE);
  CHECK(error_of([&] { store.append_event({.what = "too late"}); }).code == ErrorCode::Locked);
  CHECK(limits.size() >= 3);
  CHECK(std::ranges::all_of(limits, [](auto limit) { return limit == std::chrono::hours(1); }));
}

namespace {

/// A writer that ends just before the second attempt to switch to WAL.
SQLite::Database* writer = nullptr;
int attempts = 0;

int on_statement(unsigned, void*, void* statement, void*) {
  const std::string sql = sqlite3_sql(static_cast<sqlite3_stmt*>(statement));
  if (sql == "PRAGMA journal_mode = WAL" && ++attempts == 2) writer->exec("COMMIT");
  return 0;
}

int watch(sqlite3* connection, char**, const sqlite3_api_routines*) {
  return sqlite3_trace_v2(connection, SQLITE_TRACE_STMT, on_statement, nullptr);
}

}  // namespace

TEST_CASE("opening waits for a writer that stands in the way of the switch to WAL", "[db]") {
  const TemporaryFolder folder;
  const auto path = folder / "n.db";
  {
    const Store store = open(path);
  }
  execute_sql(path, "PRAGMA journal_mode = DELETE");
  SQLite::Database other(path.string(), SQLite::OPEN_READWRITE);
  other.exec("BEGIN IMMEDIATE");
  writer = &other;
  attempts = 0;
  sqlite3_auto_extension(reinterpret_cast<void (*)()>(watch));
  static_cast<void>(open(path));
  sqlite3_cancel_auto_extension(reinterpret_cast<void (*)()>(watch));
  CHECK(attempts == 2);
}

TEST_CASE("a full disk loses nothing that was stored, and the store goes on when there is room", "[db]") {
  const TemporaryFolder folder;
  const auto path = folder / "n.db";
  Child child("fill", path, {"c"});
  const std::string said = child.rest();
  if (said.starts_with("skip")) SKIP(said);
  INFO(said);
  CHECK(child.wait().exit_code == 0);
  CHECK_THAT(said, ContainsSubstring("error " + std::to_string(static_cast<int>(ErrorCode::Full)) + " no room"));
  const auto number_after = [&](const std::string& word) {
    const std::size_t start = said.find("\n" + word + " ");
    return start == std::string::npos ? -1 : std::stol(said.substr(start + 1 + word.size()));
  };
  CHECK(number_after("finished") > 0);
  CHECK(number_after("stored") == number_after("finished"));
  CHECK(number_after("problems") == 0);
  CHECK_THAT(said, ContainsSubstring("went on"));
}

TEST_CASE("on a disk that is read-only everything can be read, and writing is refused with a sentence", "[db]") {
  const TemporaryFolder folder;
  Child child("read-only", folder / "n.db", {"c"});
  const std::string said = child.rest();
  if (said.starts_with("skip")) SKIP(said);
  INFO(said);
  std::istringstream lines(said);
  const std::string refused = "error " + std::to_string(static_cast<int>(ErrorCode::ReadOnly)) + " ";
  int seen = 0;
  for (std::string line; std::getline(lines, line); ++seen) {
    CAPTURE(line);
    if (line.starts_with("read "))
      CHECK(line == "read opened 1");  // also where the last results are still in the -wal
    else
      CHECK_THAT(line, ContainsSubstring(" " + refused) && ContainsSubstring((folder / "disk").string()));
  }
  CHECK(seen == 5);
  CHECK(child.wait().exit_code == 0);
}

TEST_CASE("a stored JSON that was tampered with is reported as damage", "[db]") {
  const TemporaryFolder folder;
  const auto path = folder / "n.db";
  Store store = open(path);
  store.begin_or_resume_campaign(campaign("c"));
  execute_sql(path, "UPDATE campaigns SET spec_json = '{torn'");
  CHECK(error_of([&] { return store.find_campaign("c"); }).code == ErrorCode::Damaged);
  const std::string deep = std::string(300'000, '[') + std::string(300'000, ']');
  execute_sql(path, "UPDATE campaigns SET spec_json = '" + deep + "'");
  CHECK(error_of([&] { return store.find_campaign("c"); }).code == ErrorCode::Damaged);
}
