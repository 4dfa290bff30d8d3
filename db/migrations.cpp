#include "db/migrations.hpp"

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <SQLiteCpp/Transaction.h>
#include <fmt/format.h>

namespace nocturne::db {
namespace {

/// Foreign keys can only be switched outside of a transaction, and must be on again however a migration ends.
class ForeignKeysOff {
 public:
  explicit ForeignKeysOff(SQLite::Database& database) : database_(database) {
    database_.exec("PRAGMA foreign_keys = OFF");
  }
  ForeignKeysOff(const ForeignKeysOff&) = delete;
  ForeignKeysOff& operator=(const ForeignKeysOff&) = delete;
  ~ForeignKeysOff() { database_.tryExec("PRAGMA foreign_keys = ON"); }

 private:
  SQLite::Database& database_;
};

}  // namespace

int newest_version(std::span<const Migration> steps) {
  return steps.empty() ? 1 : steps.back().version;
}

int stored_version(const SQLite::Database& database) {
  SQLite::Statement query(database, "PRAGMA user_version");
  query.executeStep();
  return query.getColumn(0).getInt();
}

void create_schema(SQLite::Database& database) {
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  if (stored_version(database) != 0) return;
  database.exec(std::string(newest_schema()));
  database.exec(fmt::format("PRAGMA application_id = {}", kApplicationId));
  database.exec(fmt::format("PRAGMA user_version = {}", newest_version()));
  transaction.commit();
}

std::expected<void, std::string> migrate(SQLite::Database& database, std::span<const Migration> steps) {
  const ForeignKeysOff off(database);
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::EXCLUSIVE);
  int version = stored_version(database);
  for (const Migration& step : steps) {
    if (step.version != version + 1) continue;
    database.exec(std::string(step.sql));
    version = step.version;
  }
  SQLite::Statement broken(database, "PRAGMA foreign_key_check");
  if (broken.executeStep()) {
    return std::unexpected(fmt::format("a row of table {} refers to a row of {} that does not exist",
                                       broken.getColumn(0).getString(), broken.getColumn(2).getString()));
  }
  broken.reset();
  database.exec(fmt::format("PRAGMA user_version = {}", version));
  transaction.commit();
  return {};
}

}  // namespace nocturne::db
