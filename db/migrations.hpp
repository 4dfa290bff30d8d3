#pragma once

/// The versions of the schema and the steps between them.
///
/// schema.sql is the newest version; migrations/NNN_what.sql leads a file of version NNN - 1 to NNN. A file's version
/// is its `PRAGMA user_version`, that it is ours says its `PRAGMA application_id`.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "db/error.hpp"

namespace SQLite {
class Database;
}

namespace nocturne::db {

/// "NOCT", at byte 68 of the file: `file` and `sqlite3 FILE .dbinfo` show it.
inline constexpr std::int32_t kApplicationId = 0x4E4F4354;

struct Migration {
  int version = 0;  ///< to which it leads
  std::string_view what;
  std::string_view sql;
};

/// Ascending, without gaps, the first leads to version 2. Empty while there is only one version.
[[nodiscard]] std::span<const Migration> migrations();
[[nodiscard]] std::string_view newest_schema();
/// The version of newest_schema().
[[nodiscard]] int newest_version();

[[nodiscard]] int stored_version(const SQLite::Database& database);

/// Makes the newest schema in an empty database: all of it or nothing. A database that another process has just made
/// is left as it is. Throws SQLite::Exception.
void create_schema(SQLite::Database& database);

/// Applies the steps above the stored version, all of them or none, in one exclusive transaction; a database that
/// another process has just migrated is left as it is. Steps may rebuild tables: foreign keys are checked once at the
/// end. The error names rows that then refer to nothing. Throws SQLite::Exception.
[[nodiscard]] std::expected<void, std::string> migrate(SQLite::Database& database, std::span<const Migration> steps);

}  // namespace nocturne::db
