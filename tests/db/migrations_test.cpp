#include "db/migrations.hpp"

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/db/fixture.hpp"
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

/// A database as version `version` made it, with a row in it.
void write_old(const std::filesystem::path& path, int version) {
  execute_sql(path, read_bytes(std::filesystem::path(NOCTURNE_DB_VERSIONS) / fmt::format("{}.sql", version)));
  execute_sql(path, fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}; PRAGMA journal_mode = WAL",
                                kApplicationId, version));
  execute_sql(path,
              "INSERT INTO campaigns (name, generation, identity, spec_json, strategy, seed, created_unix_ns,"
              " opened_unix_ns) VALUES ('old', 1, 'i', '{}', 'random', 1, 5, 5)");
}

}  // namespace

TEST_CASE("a file of every earlier version is led to the schema of a fresh one", "[db]") {
  for (int version = 1; version <= newest_version(); ++version) {
    for (const Mode mode : {Mode::ReadWrite, Mode::ReadOnly}) {
      CAPTURE(version);
      const TemporaryFolder folder;
      const auto path = folder / "old.db";
      write_old(path, version);
      const Store store = open(path, mode);
      CHECK(must(store.find_campaign("old")).created_unix_ns == 5);
      const SQLite::Database database(path.string(), SQLite::OPEN_READONLY);
      CHECK(schema_shape(database) == fresh_shape());
      CHECK(stored_version(database) == newest_version());
    }
  }
}

TEST_CASE("a reader that only looks leaves an older file as it is", "[db]") {
  const TemporaryFolder folder;
  const auto path = folder / "old.db";
  write_old(path, 1);
  const auto store = Store::open(path, Mode::ReadOnly, {.migrate = false});
  REQUIRE_FALSE(store);
  CHECK(store.error().code == ErrorCode::Older);
  const SQLite::Database database(path.string(), SQLite::OPEN_READONLY);
  CHECK(stored_version(database) == 1);
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
