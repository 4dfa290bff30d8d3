#pragma once

#include <SQLiteCpp/Database.h>

#include <string>

namespace nocturne::db::test {

/// Tables, columns, types, keys, indexes, references, one a line, sorted: equal for equal schemas however these came
/// about (a column added later stands elsewhere in the text of CREATE TABLE). CHECKs are compared as text without
/// comments.
[[nodiscard]] std::string schema_shape(const SQLite::Database& database);

}  // namespace nocturne::db::test
