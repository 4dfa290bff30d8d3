#include "db/open_checks.hpp"

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Statement.h>
#include <SQLiteCpp/Transaction.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string_view>
#include <system_error>

#include <nlohmann/json.hpp>

#include "db/migrations.hpp"
#include "db/rows.hpp"

namespace nocturne::db {
namespace {

constexpr std::size_t kHeaderBytes = 100;                    // https://www.sqlite.org/fileformat2.html, 1.3
constexpr std::size_t kApplicationIdOffset = 68;             // likewise; big-endian
constexpr std::string_view kMagic{"SQLite format 3\0", 16};  // likewise
constexpr std::uintmax_t kNoRoomBytes = 1U << 20;            // less than this free: the disk counts as full

Error not_ours(const std::filesystem::path& path, std::string_view what) {
  return {ErrorCode::NotOurs,
          fmt::format("'{}' {}; it was left untouched. Name another file with --db, or move it away.", path.string(),
                      what)};
}

/// The error for a file whose application id is not ours.
Error wrong_application(const std::filesystem::path& path, std::uint32_t id) {
  if (id != static_cast<std::uint32_t>(kUnreleasedApplicationId))
    return not_ours(path, fmt::format("is the database of another program (application id 0x{:08x})", id));
  return {ErrorCode::Older,
          fmt::format("'{}' is from before the first release of Nocturne, whose tables were others; it was left "
                      "untouched. Move it away, or name another file with --db, and tune again.",
                      path.string())};
}

Error damaged(const std::filesystem::path& path, std::string_view what) {
  return {ErrorCode::Damaged,
          fmt::format("'{0}' is damaged: {1}. Restore a copy of it, or move it away together with '{0}-wal' and save "
                      "what is readable with: sqlite3 OLD .recover | sqlite3 NEW",
                      path.string(), what)};
}

Error full(const std::filesystem::path& path) {
  return {ErrorCode::Full,
          fmt::format("no room is left on the disk of '{}'. Make room (nocturne clean lists what may go) "
                      "and start again: what was stored is safe.",
                      path.string())};
}

bool disk_is_full(const std::filesystem::path& path) {
  std::error_code error;
  const auto space = std::filesystem::space(path.parent_path().empty() ? "." : path.parent_path(), error);
  return !error && space.available < kNoRoomBytes;
}

std::int64_t read_number(const SQLite::Database& database, const char* query) {
  SQLite::Statement statement(database, query);
  statement.executeStep();
  return statement.getColumn(0).getInt64();
}

}  // namespace

void check_header(const std::filesystem::path& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) return;
  if (!std::filesystem::is_regular_file(status))
    throw not_ours(path, std::filesystem::is_directory(status) ? "is a folder" : "is not a regular file");
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw Error(ErrorCode::ReadOnly, fmt::format("'{}' cannot be read by this user. Change the permissions, or name "
                                                 "another file with --db.",
                                                 path.string()));
  }
  std::array<char, kHeaderBytes> header{};
  file.read(header.data(), header.size());
  const auto size = static_cast<std::size_t>(file.gcount());
  if (size == 0) return;
  const std::string_view start(header.data(), std::min(size, kMagic.size()));
  if (start != kMagic.substr(0, start.size())) throw not_ours(path, "is not a SQLite database");
  if (size < kHeaderBytes) throw damaged(path, fmt::format("it ends after {} bytes, within its header", size));
  std::uint32_t id = 0;
  for (std::size_t i = 0; i < 4; ++i) id = id << 8 | static_cast<unsigned char>(header[kApplicationIdOffset + i]);
  if (id != 0 && id != static_cast<std::uint32_t>(kApplicationId)) throw wrong_application(path, id);
}

void make_folder(const std::filesystem::path& path) {
  const std::filesystem::path folder = path.parent_path();
  if (folder.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error) return;
  if (error == std::errc::no_space_on_device) throw full(path);
  const bool forbidden = error == std::errc::permission_denied || error == std::errc::read_only_file_system;
  throw Error(forbidden ? ErrorCode::ReadOnly : ErrorCode::Io,
              fmt::format("the folder '{}' cannot be made ({}). Name another file with --db.", folder.string(),
                          error.message()));
}

Content check_identity(SQLite::Database& database, const std::filesystem::path& path, int newest) {
  // Reads one moment: another process may be making the schema just now.
  const SQLite::Transaction moment(database, SQLite::TransactionBehavior::DEFERRED);
  const auto id = read_number(database, "PRAGMA application_id");
  const auto version = stored_version(database);
  if (id == kApplicationId) {
    if (version > newest) throw newer_error(path, version, newest);
    if (version < 1) throw damaged(path, "it has no version number");
    return Content::Ours;
  }
  if (id == 0 && version == 0 && read_number(database, "SELECT count(*) FROM sqlite_master") == 0)
    return Content::Nothing;
  throw wrong_application(path, static_cast<std::uint32_t>(id));
}

Error read_only_error(const std::filesystem::path& path) {
  return {ErrorCode::ReadOnly, fmt::format("'{}' or its folder cannot be written by this user. Change the permissions, "
                                           "or name another file with --db.",
                                           path.string())};
}

Error older_error(const std::filesystem::path& path, int found, int newest) {
  return {ErrorCode::Older,
          fmt::format("'{}' has version {} of the database and is not changed while an older Nocturne "
                      "may be writing it. When nothing tunes any more, 'nocturne list' brings it to "
                      "version {}.",
                      path.string(), found, newest)};
}

Error newer_error(const std::filesystem::path& path, int found, int newest) {
  return {ErrorCode::Newer, fmt::format("'{}' has version {} of the database, this program knows up to version {}. Use "
                                        "the newer Nocturne that wrote it, or name another file with --db.",
                                        path.string(), found, newest)};
}

Error describe_exception(const std::exception& exception, const std::filesystem::path& path,
                         std::chrono::milliseconds busy_timeout) {
  if (dynamic_cast<const nlohmann::json::exception*>(&exception) != nullptr ||
      dynamic_cast<const TamperedRow*>(&exception) != nullptr) {
    return damaged(path, exception.what());
  }
  const auto* sqlite = dynamic_cast<const SQLite::Exception*>(&exception);
  if (sqlite == nullptr) return {ErrorCode::Io, fmt::format("'{}': {}", path.string(), exception.what())};
  switch (sqlite->getErrorCode() & 0xff) {  // the low byte is the primary code, the others refine it
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {ErrorCode::Locked,
              fmt::format("another process kept '{0}' locked for more than {1} s. See which with "
                          "'fuser {0}', end or continue it, and start again: what was stored is safe.",
                          path.string(), static_cast<double>(busy_timeout.count()) / 1000)};
    case SQLITE_FULL:
      return full(path);
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return read_only_error(path);
    case SQLITE_CANTOPEN:
      return disk_is_full(path) ? full(path) : read_only_error(path);
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      return damaged(path, sqlite->what());
    case SQLITE_IOERR:  // mapping the -shm file on a full disk is reported as this, too
      return disk_is_full(path)
                 ? full(path)
                 : Error{ErrorCode::Io, fmt::format("'{}' cannot be read or written: {}. See whether its "
                                                    "disk is well (dmesg).",
                                                    path.string(), sqlite->what())};
    case SQLITE_CONSTRAINT:
      return {ErrorCode::Inconsistent,
              fmt::format("'{}' refuses a contradictory entry: {}", path.string(), sqlite->what())};
    default:
      return {ErrorCode::Io, fmt::format("'{}': {}", path.string(), sqlite->what())};
  }
}

}  // namespace nocturne::db
