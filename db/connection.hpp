#pragma once

/// One open database file, with the rules every use of it obeys: pragmas, short transactions, errors as sentences
/// (Error).

#include <chrono>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Transaction.h>

#include "db/database.hpp"
#include "db/error.hpp"
#include "db/network_writer.hpp"
#include "db/open_checks.hpp"
#include "db/store.hpp"

namespace nocturne::db {

/// Not thread-safe. Must not be used by a child after fork() (SQLite: "How To Corrupt An SQLite Database File", 2.6).
class Connection {
 public:
  /// Opens, creates or migrates; refuses what is not ours or newer (open_checks.hpp). Throws Error.
  [[nodiscard]] static std::unique_ptr<Connection> open(const std::filesystem::path& path, Mode mode,
                                                        StoreOptions options);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();  ///< on a network file system: makes the last copy, and gives the lease back

  /// Runs `body(Database&)` in one transaction, and gives what it gives: committed where it returns, rolled
  /// back where it throws. IMMEDIATE: it waits for its turn once, at the beginning, and cannot be refused half-way
  /// because another process wrote meanwhile. Throws Error, whatever was thrown inside. Within the body of another
  /// write() it is part of that one's transaction.
  template <typename Body>
  auto write(const Body& body) -> std::invoke_result_t<const Body&, Database&> {
    return described([&] {
      if (in_transaction()) return body(database_);
      SQLite::Transaction transaction(database_, SQLite::TransactionBehavior::IMMEDIATE);
      check_may_write();
      if constexpr (std::is_void_v<std::invoke_result_t<const Body&, Database&>>) {
        body(database_);
        commit(transaction);
      } else {
        auto result = body(database_);
        commit(transaction);
        return result;
      }
    });
  }

  /// Likewise for reading: all that `body` reads is of one moment.
  template <typename Body>
  [[nodiscard]] auto read(const Body& body) const -> std::invoke_result_t<const Body&, Database&> {
    return described([&] {
      if (in_transaction()) return body(database_);
      SQLite::Transaction transaction(database_, SQLite::TransactionBehavior::DEFERRED);
      return body(database_);
    });
  }

  /// Store::compact(). Must not be called inside a transaction. (compaction.cpp)
  void compact();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] Database& database() const { return database_; }

  /// The type of the network file system; empty: it lies on a local one.
  [[nodiscard]] const std::string& network_type() const { return network_type_; }
  [[nodiscard]] bool writes_on_network() const { return network_ != nullptr; }
  [[nodiscard]] std::optional<std::int64_t> copied_unix_ns() const { return copied_unix_ns_; }

  /// Names this connection among the owners of leases and reservations.
  [[nodiscard]] const std::string& token() const { return token_; }
  /// The process that took a lease through this connection; empty: it took none.
  [[nodiscard]] std::optional<std::int64_t> owner_pid() const { return owner_pid_; }
  void set_owner_pid(std::int64_t pid) { owner_pid_ = pid; }

  /// Whether writes wait as long as StoreOptions::campaign_busy_timeout says, from now on. Must not be called inside a
  /// transaction.
  void wait_as_campaign(bool campaign);

 private:
  Connection(SQLite::Database database, std::filesystem::path path, StoreOptions options);
  /// Writing migrates. Throws Older where it cannot be done.
  static void migrate_to_read(const std::filesystem::path& path, const StoreOptions& options);
  /// Without a look at the version.
  [[nodiscard]] static std::unique_ptr<Connection> open_any_version(const std::filesystem::path& path, Mode mode,
                                                                    const StoreOptions& options);
  /// Runs `work`; what it throws leaves as an Error, which says what happened to this file, and what to do.
  template <typename Work>
  auto described(const Work& work) const -> std::invoke_result_t<const Work&> {
    try {
      return work();
    } catch (const Error&) {
      throw;
    } catch (const std::exception& exception) {
      throw describe_exception(exception, path_, lock_limit_);
    }
  }
  /// Throws if a newer program migrated the file while this one had it open, or another program writes it now.
  void check_may_write() const;
  /// Throws if another program took over, on a network file system, while this one was silent.
  void check_not_lost() const;
  void commit(SQLite::Transaction& transaction);
  [[nodiscard]] bool in_transaction() const;
  /// SQLite's busy handler: 0 gives up.
  static int wait_for_lock(void* connection, int tries) noexcept;
  void compact_on_network();

  std::unique_ptr<NetworkWriter> network_;  // before the database, so that the lease is given back after it is closed
  mutable Database database_;  // SQLite has no read-only connection to a file that others write: locks change
  std::filesystem::path path_;
  StoreOptions options_;
  std::chrono::milliseconds busy_timeout_;  ///< now
  std::chrono::milliseconds lock_limit_;    ///< how long the last wait could last
  std::chrono::steady_clock::time_point locked_since_;
  std::string token_;
  std::optional<std::int64_t> owner_pid_;
  std::string network_type_;
  std::optional<std::int64_t> copied_unix_ns_;
};

}  // namespace nocturne::db
