#include "db/migrations.hpp"

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <csignal>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/db/child.hpp"
#include "tests/db/faulty_disk.hpp"
#include "tests/db/fixture.hpp"
#include "tests/db/next_version.hpp"
#include "tests/db/schema_shape.hpp"

using namespace nocturne::db;
using namespace nocturne::db::test;

namespace {

SQLite::Database in_memory() {
  return {":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE};
}

std::string fresh_shape() {
  SQLite::Database database = in_memory();
  create_schema(database);
  return schema_shape(database);
}

std::int64_t number(const SQLite::Database& database, const std::string& sql) {
  SQLite::Statement statement(database, sql);
  statement.executeStep();
  return statement.getColumn(0).getInt64();
}

std::string next_shape() {
  SQLite::Database database = in_memory();
  create_schema(database);
  if (!migrate(database, step_to_next_version())) FAIL("the made-up step was refused");
  return schema_shape(database);
}

/// A database of the newest version with a campaign in it, that is the old version to who knows the made-up step.
void write_old(const std::filesystem::path& path) {
  Store store = open(path);
  store.begin_or_resume_campaign(campaign("old"));
  store.append_event({.what = "begun"});
}

Store open_as_next(const std::filesystem::path& path, Mode mode, bool migrate = true) {
  static const auto steps = step_to_next_version();
  return Store::open(path, mode, {.migrate = migrate, .migrations = steps});
}

enum class Found { Old, New };

/// What is in the file: the whole of one version, or the test fails.
Found version_in(const std::filesystem::path& path) {
  const SQLite::Database database(path.string(), SQLite::OPEN_READWRITE);
  SQLite::Statement check(database, "PRAGMA integrity_check");
  check.executeStep();
  CHECK(check.getColumn(0).getString() == "ok");
  CHECK(number(database, "SELECT count(*) FROM campaigns WHERE name = 'old'") == 1);
  CHECK(number(database, "SELECT count(*) FROM events") == 1);
  const bool is_new = stored_version(database) == newest_version() + 1;
  if (!is_new) CHECK(stored_version(database) == newest_version());
  CHECK(schema_shape(database) == (is_new ? next_shape() : fresh_shape()));
  if (is_new) CHECK(number(database, "SELECT count(*) FROM moods") == 1);
  return is_new ? Found::New : Found::Old;
}

}  // namespace

TEST_CASE("a file of version 1 is led to the schema of a fresh one, and keeps what it has", "[db]") {
  const TemporaryFolder folder;
  const auto path = folder / "first.db";
  std::ifstream stream(std::string(NOCTURNE_DB_SCHEMAS) + "/schema_001.sql");
  const std::string first((std::istreambuf_iterator<char>(stream)), {});
  {
    SQLite::Database database(path.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    database.exec(first);
    database.exec("PRAGMA application_id = " + std::to_string(kApplicationId));
    database.exec("PRAGMA user_version = 1");
    database.exec("INSERT INTO events (time_unix_ns, level, what) VALUES (1, 'info', 'kept')");
    REQUIRE(schema_shape(database) != fresh_shape());
  }
  {
    const Store store = Store::open(path, Mode::ReadOnly);
    REQUIRE(store.events({}).size() == 1);
    CHECK(store.events({}).front().what == "kept");
  }
  const SQLite::Database database(path.string(), SQLite::OPEN_READONLY);
  CHECK(schema_shape(database) == fresh_shape());
  CHECK(stored_version(database) == newest_version());
}

TEST_CASE("a file of the version before is led to the next one by who writes and by who reads", "[db]") {
  for (const Mode mode : {Mode::ReadWrite, Mode::ReadOnly}) {
    const TemporaryFolder folder;
    const auto path = folder / "old.db";
    write_old(path);
    const Store store = open_as_next(path, mode);
    CHECK(store.find_campaign("old")->generation == 1);
    CHECK(version_in(path) == Found::New);
  }
}

TEST_CASE("a file that is made anew has the next version at once", "[db]") {
  const TemporaryFolder folder;
  const auto path = folder / "new.db";
  Store store = open_as_next(path, Mode::ReadWrite);
  store.begin_or_resume_campaign(campaign("c"));
  const SQLite::Database database(path.string(), SQLite::OPEN_READONLY);
  CHECK(stored_version(database) == newest_version() + 1);
  CHECK(schema_shape(database) == next_shape());
}

TEST_CASE("a reader that only looks leaves an older file as it is", "[db]") {
  const TemporaryFolder folder;
  const auto path = folder / "old.db";
  write_old(path);
  CHECK(error_of([&] { return open_as_next(path, Mode::ReadOnly, false); }).code == ErrorCode::Older);
  CHECK(version_in(path) == Found::Old);
}

TEST_CASE("a process killed at any statement of a migration leaves the old version or the new one", "[db]") {
  int statement = 0;  // 0: while it commits
  int left_old = 0;
  for (bool survived = false; !survived; ++statement) {
    CAPTURE(statement);
    const TemporaryFolder folder;
    const auto path = folder / "old.db";
    write_old(path);
    Child child("die-migrating", path, {std::to_string(statement)});
    survived = child.rest() == "survived\n";
    REQUIRE((survived || child.wait().signal == SIGKILL));
    const Found found = version_in(path);
    if (survived) CHECK(found == Found::New);
    left_old += found == Found::Old ? 1 : 0;
    open_as_next(path, Mode::ReadWrite);
    CHECK(version_in(path) == Found::New);
  }
  CHECK(left_old > 10);  // the pragmas, the step's statements, the checks and the commit are more than that
}

TEST_CASE("a disk that breaks at any write of a migration leaves the old version or the new one", "[db]") {
  const Fault fault = GENERATE(Fault::Once, Fault::ForGood, Fault::Torn, Fault::Full);
  CAPTURE(static_cast<int>(fault));
  FaultyDisk disk;
  int at = 0, left_old = 0;
  for (bool broke = true; broke;) {
    CAPTURE(++at);
    const TemporaryFolder folder;
    const auto path = folder / "old.db";
    write_old(path);
    disk.break_at(at, fault);
    bool opened = true;
    try {
      open_as_next(path, Mode::ReadWrite);
    } catch (const Error&) {
      opened = false;
    }
    broke = disk.fix();
    const Found found = version_in(path);
    if (opened) CHECK(found == Found::New);
    left_old += found == Found::Old ? 1 : 0;
    open_as_next(path, Mode::ReadWrite);
    CHECK(version_in(path) == Found::New);
  }
  CHECK(left_old > 10);
}

TEST_CASE("schemas that differ have different shapes", "[db]") {
  for (const char* change : {"ALTER TABLE trials ADD COLUMN more TEXT", "DROP INDEX runs_by_trial",
                             "CREATE TABLE another (a INTEGER) STRICT"}) {
    SQLite::Database database = in_memory();
    create_schema(database);
    database.exec(change);
    CHECK(schema_shape(database) != fresh_shape());
  }
}

TEST_CASE("steps above the stored version are applied in order, those below are not", "[db]") {
  SQLite::Database database = in_memory();
  create_schema(database);
  const int now = newest_version();
  const std::array<Migration, 3> steps = {
      Migration{now, "already_done", "CREATE TABLE wrong (a)"},
      Migration{now + 1, "first",
                "ALTER TABLE events ADD COLUMN colour TEXT; CREATE TABLE moods (id INTEGER PRIMARY KEY)"},
      Migration{now + 2, "second", "ALTER TABLE moods ADD COLUMN name TEXT"}};
  REQUIRE(migrate(database, steps));
  CHECK(stored_version(database) == now + 2);
  CHECK(number(database, "SELECT count(*) FROM pragma_table_info('moods')") == 2);
  CHECK(number(database, "SELECT count(*) FROM pragma_table_info('events') WHERE name = 'colour'") == 1);
  CHECK(number(database, "SELECT count(*) FROM sqlite_master WHERE name = 'wrong'") == 0);
  CHECK(number(database, "PRAGMA foreign_keys") == 1);
}

TEST_CASE("a step that fails leaves the file as it was", "[db]") {
  SQLite::Database database = in_memory();
  create_schema(database);
  const int now = newest_version();
  const std::array<Migration, 2> steps = {Migration{now + 1, "good", "CREATE TABLE moods (a)"},
                                          Migration{now + 2, "bad", "CREATE TABLE moods (a)"}};
  CHECK_THROWS_AS(migrate(database, steps), SQLite::Exception);
  CHECK(stored_version(database) == now);
  CHECK(schema_shape(database) == fresh_shape());
}

TEST_CASE("a step that leaves a row without what it refers to is refused", "[db]") {
  SQLite::Database database = in_memory();
  create_schema(database);
  const std::array<Migration, 1> steps = {
      Migration{newest_version() + 1, "careless", "INSERT INTO leases VALUES (42, 43, 0)"}};
  const auto migrated = migrate(database, steps);
  REQUIRE(!migrated);
  CHECK_THAT(migrated.error(), Catch::Matchers::ContainsSubstring("leases"));
  CHECK(number(database, "SELECT count(*) FROM leases") == 0);
  CHECK(stored_version(database) == newest_version());
}
