#pragma once

/// How a database lives where WAL is not safe (db/file_system.hpp): with a rollback journal, one program that writes
/// (db/writer_lease.hpp), and a copy beside it, DATABASE-copy, that all others read.
///
/// The copy is a whole database that never changes: it is made by SQLite's backup under another name, flushed, and
/// renamed, so that a reader has the old one or the new one, and needs no lock. It is made when the writer begins and
/// ends, and in between after some commits or some time, but never for more than a small share of it.
///
/// Not thread-safe.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "db/error.hpp"
#include "db/network_options.hpp"
#include "db/writer_lease.hpp"

namespace SQLite {
class Database;
}

namespace nocturne::db {

class NetworkWriter {
 public:
  /// Takes the lease. Throws Owned: another process writes.
  [[nodiscard]] static std::unique_ptr<NetworkWriter> take(const std::filesystem::path& database,
                                                           const NetworkOptions& options);

  /// An error where this program may not write any more.
  [[nodiscard]] std::optional<Error> lost() const { return lease_->lost(); }

  /// Makes the copy where one is due. One that cannot be made (no room) stops nothing: readers have the one before, and
  /// see how old that is.
  void committed(SQLite::Database& database);
  /// Makes the copy where there is anything new.
  void publish(SQLite::Database& database);

 private:
  NetworkWriter(std::filesystem::path database, const NetworkOptions& options, std::unique_ptr<WriterLease> lease);

  std::filesystem::path database_;
  std::int64_t copy_after_commits_;
  std::chrono::milliseconds copy_after_time_;
  int copying_share_;
  std::unique_ptr<WriterLease> lease_;
  std::int64_t commits_ = 1;  // since the last copy
  std::chrono::steady_clock::time_point copied_{};
  std::chrono::steady_clock::duration took_{};
  std::int64_t made_by_;  // pid: a forked child's copy does nothing
};

/// DATABASE-copy
[[nodiscard]] std::filesystem::path published_copy(const std::filesystem::path& database);

/// What a reader opens, as a file that does not change while it is open.
struct Readable {
  std::filesystem::path file;
  std::optional<std::int64_t> copied_unix_ns;  ///< when the copy was made, by the file server's clock; empty: no copy
};
/// The copy; before there ever was one, the database itself, where nothing in it is half done and nobody writes it.
[[nodiscard]] Readable readable_on_network(const std::filesystem::path& database);

}  // namespace nocturne::db
