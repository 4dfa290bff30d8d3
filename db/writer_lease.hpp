#pragma once

/// Who alone may write a database whose file system cannot be trusted with locks (db/file_system.hpp).
///
/// The lease is a small file beside the database, DATABASE-writer: who holds it, and a count that its holder raises
/// every few seconds. Made by link(2), which one of many wins on every file system, however its locks lie; where there
/// are no hard links, by an exclusive open(2). A holder that is dead is known at once on its own machine, also where
/// that was started again since (process_identity.hpp, ended_with_its_boot); of one elsewhere nothing can be known but
/// whether it still counts, so who wants the lease watches for a while, and says so (LeaseTimes::waiting). Clocks of
/// different machines are never compared.
///
/// One that was taken away (its machine slept) is told so by lost(), which is asked before each transaction begins and
/// again before it is committed: a holder that only believes to be one does not write.
///
/// Thread-safe but for construction and destruction. A thread of its own raises the count; it hears no signals.

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "db/error.hpp"
#include "db/network_options.hpp"
#include "db/process_identity.hpp"

namespace nocturne::db {

class WriterLease {
 public:
  /// Throws Owned: another process writes; the message says who and where. Waits for `patience` where only that can
  /// tell; a lease that is removed meanwhile ends the wait.
  [[nodiscard]] static std::unique_ptr<WriterLease> take(const std::filesystem::path& database, LeaseTimes times = {},
                                                         const ProcessIdentity& self = this_process());
  WriterLease(const WriterLease&) = delete;
  WriterLease& operator=(const WriterLease&) = delete;
  ~WriterLease();  ///< gives it back, where it is still this one's and not a forked child's copy

  /// An error from the moment on at which another holds it, or somebody removed the file.
  [[nodiscard]] std::optional<Error> lost() const;

 private:
  WriterLease(std::filesystem::path database, std::string token, ProcessIdentity self, LeaseTimes times, int file);
  void keep_counting(const std::stop_token& stop);

  std::filesystem::path database_;
  std::string token_;
  ProcessIdentity self_;
  LeaseTimes times_;
  int file_;  // of the lease as it was taken: what another puts in its place is another file, and is not touched
  std::int64_t made_by_;  // pid
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread counting_;  // last, so that it ends first
};

/// DATABASE-writer
[[nodiscard]] std::filesystem::path writer_lease_file(const std::filesystem::path& database);

}  // namespace nocturne::db
