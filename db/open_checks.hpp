#pragma once

/// What is known of a file before and just after SQLite opens it: is it ours, is it whole, can it be written? And the
/// sentences for what SQLite reports later.

#include <chrono>
#include <exception>
#include <filesystem>
#include <optional>

#include "db/error.hpp"

namespace SQLite {
class Database;
}

namespace nocturne::db {

/// Looks at the first bytes without SQLite, which would roll back another program's journal merely by opening its file.
/// Throws Error, unless it is absent, an empty file, ours, or without an application id (see check_identity()).
void check_header(const std::filesystem::path& path);

/// Makes the missing folders above `path`. Throws Error.
void make_folder(const std::filesystem::path& path);

enum class Content {
  Nothing,  ///< the schema can be made
  Ours,
};
/// Throws Error where it is another program's, from before the first release, or newer than `newest`;
/// SQLite::Exception.
Content check_identity(SQLite::Database& database, const std::filesystem::path& path, int newest);

[[nodiscard]] Error read_only_error(const std::filesystem::path& path);
[[nodiscard]] Error older_error(const std::filesystem::path& path, int found, int newest);
[[nodiscard]] Error newer_error(const std::filesystem::path& path, int found, int newest);

/// `exception` as a sentence about `path`.
[[nodiscard]] Error describe_exception(const std::exception& exception, const std::filesystem::path& path,
                                       std::chrono::milliseconds busy_timeout);

}  // namespace nocturne::db
