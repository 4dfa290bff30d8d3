#pragma once

/// The versions of the schema and the steps between them.
///
/// schema.sql is the newest version; migrations/NNN_what.sql leads a file of version NNN - 1 to NNN. A file's version
/// is its `PRAGMA user_version`; its `PRAGMA application_id` says that it is ours.

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>

#include "db/error.hpp"

namespace SQLite {
class Database;
}

namespace nocturne::db {

/// "NCTN", at byte 68 of the file: `file` and `sqlite3 FILE .dbinfo` show it.
inline constexpr std::int32_t kApplicationId = 0x4E43544E;

/// "NOCT": nine versions from before the first release, whose numbers 1 to 9 mean other tables than ours. They are told
/// apart by an id of our own and not by an offset of the version: so a program of then, too, takes a file of today for
/// another program's and leaves it alone, and versions count from 1.
inline constexpr std::int32_t kUnreleasedApplicationId = 0x4E4F4354;

struct Migration {
  int version = 0;  ///< to which it leads
  std::string_view what;
  std::string_view sql;
};

/// Ascending, without gaps, the first leads to version 2.
[[nodiscard]] std::span<const Migration> migrations();
[[nodiscard]] std::string_view newest_schema();
/// The version that `steps` lead to; without any argument, that of newest_schema().
[[nodiscard]] int newest_version(std::span<const Migration> steps = migrations());

[[nodiscard]] int stored_version(const SQLite::Database& database);

/// Makes the newest schema in an empty database: all of it or nothing. A database that another process has just made
/// is left as it is. Throws SQLite::Exception.
void create_schema(SQLite::Database& database);

/// Applies the steps above the stored version, all of them or none, in one exclusive transaction; a database that
/// another process has just migrated is left as it is. Steps may rebuild tables: foreign keys are checked once at the
/// end. The error names rows that then refer to nothing. Throws SQLite::Exception.
[[nodiscard]] std::expected<void, std::string> migrate(SQLite::Database& database, std::span<const Migration> steps);

}  // namespace nocturne::db
