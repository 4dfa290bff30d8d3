// Statements that are compiled once.

#include <string>

#include <SQLiteCpp/Exception.h>
#include <catch2/catch_test_macros.hpp>

#include "db/database.hpp"
#include "db/rows.hpp"

namespace nocturne::db::test {
namespace {

const SQLite::Statement* address_of(const SQLite::Statement& statement) {
  return &statement;
}

SQLite::Database open_in_memory() {
  SQLite::Database opened(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  opened.exec("CREATE TABLE t (name TEXT UNIQUE, value INTEGER); INSERT INTO t VALUES ('one', 1), ('two', 2)");
  return opened;
}

}  // namespace

TEST_CASE("a statement is compiled once, and knows nothing of how it was used before", "[db]") {
  const Database database(open_in_memory());
  const std::string sql = "SELECT value FROM t WHERE name = ?1";
  const SQLite::Statement* first = nullptr;
  {
    Statement statement = query(database, sql, std::string("one"));
    first = address_of(statement);
    CHECK(statement.executeStep());  // and not to its end
  }
  {
    Statement again = database.prepared(sql);
    CHECK(address_of(again) == first);
    CHECK_FALSE(again.executeStep());  // bound to nothing
    // Wanted while it is in use it is another one.
    Statement beside = query(database, sql, std::string("two"));
    CHECK(address_of(beside) != first);
    REQUIRE(beside.executeStep());
    CHECK(beside.getColumn(0).getInt() == 2);
  }
  CHECK(first_value<int>(database, sql, std::string("two")) == 2);
}

TEST_CASE("a statement that failed works the next time, and one of an older schema reads the new one", "[db]") {
  Database database(open_in_memory());
  const std::string insert = "INSERT INTO t (name, value) VALUES (?1, ?2)",
                    named = "SELECT name FROM t WHERE value = ?1";
  CHECK_THROWS_AS(execute(database, insert, std::string("one"), 3), SQLite::Exception);
  CHECK(execute(database, insert, std::string("three"), 3) == 1);
  CHECK(first_value<std::string>(database, named, 3) == "three");
  database.exec("ALTER TABLE t DROP COLUMN value; ALTER TABLE t ADD COLUMN value INTEGER DEFAULT 3");
  CHECK(first_value<std::string>(database, named, 3) == "one");
}

}  // namespace nocturne::db::test
