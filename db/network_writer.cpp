#include "db/network_writer.hpp"

#include <SQLiteCpp/Backup.h>
#include <SQLiteCpp/Database.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <exception>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace nocturne::db {
namespace {

bool flush_file(const std::filesystem::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor < 0) return false;
  const bool flushed = ::fsync(descriptor) == 0;
  ::close(descriptor);
  return flushed;
}

/// What a copy is called until it is whole.
std::filesystem::path unfinished_copy(const std::filesystem::path& database) {
  return published_copy(database).string() + ".new";
}

/// Throws SQLite::Exception. False: the system refused.
bool copy_database(SQLite::Database& from, const std::filesystem::path& database) {
  std::error_code error;
  const std::filesystem::path unfinished = unfinished_copy(database);
  std::filesystem::remove(unfinished, error);
  {
    SQLite::Database to(unfinished.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    to.exec("PRAGMA journal_mode = OFF");  // half a copy is thrown away
    to.exec("PRAGMA synchronous = OFF");   // flushed once, at the end
    SQLite::Backup backup(to, from);
    if (backup.executeStep(-1) != SQLITE_DONE) return false;
  }
  std::filesystem::permissions(unfinished, std::filesystem::status(database, error).permissions(), error);
  if (!flush_file(unfinished)) return false;
  std::filesystem::rename(unfinished, published_copy(database), error);
  return !error;
}

bool has_bytes(const std::filesystem::path& file) {
  std::error_code error;
  const auto size = std::filesystem::file_size(file, error);
  return !error && size > 0;
}

}  // namespace

std::filesystem::path published_copy(const std::filesystem::path& database) {
  return database.string() + "-copy";
}

NetworkWriter::NetworkWriter(std::filesystem::path database, const NetworkOptions& options,
                             std::unique_ptr<WriterLease> lease)
    : database_(std::move(database)),
      copy_after_commits_(options.copy_after_commits),
      copy_after_time_(options.copy_after_time),
      copying_share_(options.copying_share),
      lease_(std::move(lease)),
      made_by_(::getpid()) {}

std::unique_ptr<NetworkWriter> NetworkWriter::take(const std::filesystem::path& database,
                                                   const NetworkOptions& options) {
  auto lease = WriterLease::take(database, options.lease);
  return std::unique_ptr<NetworkWriter>(new NetworkWriter(database, options, std::move(lease)));
}

void NetworkWriter::committed(SQLite::Database& database) {
  ++commits_;
  const auto since = std::chrono::steady_clock::now() - copied_;
  if (commits_ < copy_after_commits_ && since < copy_after_time_) return;
  if (since < copying_share_ * took_) return;
  publish(database);
}

void NetworkWriter::publish(SQLite::Database& database) {
  if (commits_ == 0 || ::getpid() != made_by_ || lost()) return;
  const auto began = std::chrono::steady_clock::now();
  bool copied = false;
  try {
    copied = copy_database(database, database_);
  } catch (const std::exception&) {
    // As for the commit itself: what follows will meet the same error, and is told of it.
  }
  copied_ = std::chrono::steady_clock::now();
  took_ = copied_ - began;
  if (copied) {
    commits_ = 0;
    return;
  }
  // Half a copy would take the room that the commits need.
  std::error_code ignored;
  std::filesystem::remove(unfinished_copy(database_), ignored);
}

Readable readable_on_network(const std::filesystem::path& database) {
  const std::filesystem::path copy = published_copy(database);
  struct stat status{};
  if (::lstat(copy.c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
    return Readable{.file = copy,
                    .copied_unix_ns = std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec};
  }
  const std::string name = database.string();
  std::error_code ignored;
  if (!has_bytes(name + "-wal") && !has_bytes(name + "-journal") &&
      !std::filesystem::exists(writer_lease_file(database), ignored)) {
    return Readable{.file = database, .copied_unix_ns = {}};
  }
  throw Error(
      ErrorCode::Locked,
      fmt::format("'{}' lies on a network file system, was left in the middle of a change, or is being made just "
                  "now, and there is no copy to read yet. Once opened for writing ('nocturne tune', 'nocturne "
                  "clean') it has one.",
                  name));
}

}  // namespace nocturne::db
