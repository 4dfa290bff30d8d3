#pragma once

/// One open database file, with the rules every use of it obeys: pragmas, short transactions, errors as sentences.

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

#include "db/error.hpp"
#include "db/store.hpp"

namespace nocturne::db {

/// Not thread-safe. Must not be used by a child after fork() (SQLite: "How To Corrupt An SQLite Database File", 2.6).
class Connection {
 public:
  /// Opens, creates or migrates; refuses what is not ours or newer (open_checks.hpp).
  [[nodiscard]] static Expected<std::unique_ptr<Connection>> open(const std::filesystem::path& path, Mode mode,
                                                                  StoreOptions options);

  /// Runs `body(SQLite::Database&)`, which gives an Expected<T>, in one transaction: committed where it has a value,
  /// rolled back where it has an error or throws. IMMEDIATE: it waits for its turn once, at the beginning, and cannot
  /// be refused half-way because another process wrote meanwhile.
  template <typename Body>
  [[nodiscard]] auto write(const Body& body) -> std::invoke_result_t<const Body&, SQLite::Database&> {
    try {
      SQLite::Transaction transaction(database_, SQLite::TransactionBehavior::IMMEDIATE);
      if (auto error = still_our_version()) {
        return std::unexpected(*std::move(error));
      }
      auto result = body(database_);
      if (result) {
        transaction.commit();
      }
      return result;
    } catch (const std::exception& exception) {
      return std::unexpected(describe(exception));
    }
  }

  /// Likewise for reading: all that `body` reads is of one moment.
  template <typename Body>
  [[nodiscard]] auto read(const Body& body) const -> std::invoke_result_t<const Body&, SQLite::Database&> {
    try {
      SQLite::Transaction transaction(database_, SQLite::TransactionBehavior::DEFERRED);
      return body(database_);
    } catch (const std::exception& exception) {
      return std::unexpected(describe(exception));
    }
  }

  /// As a sentence: what happened to this file, and what to do.
  [[nodiscard]] Error describe(const std::exception& exception) const;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] SQLite::Database& database() const { return database_; }

  /// Names this connection among the owners of leases and claims.
  [[nodiscard]] const std::string& token() const { return token_; }
  /// The process that took a lease through this connection; empty: it took none.
  [[nodiscard]] std::optional<std::int64_t> owner_pid() const { return owner_pid_; }
  void set_owner_pid(std::int64_t pid) { owner_pid_ = pid; }

 private:
  Connection(SQLite::Database database, std::filesystem::path path, StoreOptions options);
  /// An error if a newer program migrated the file while this one had it open.
  [[nodiscard]] std::optional<Error> still_our_version() const;

  mutable SQLite::Database database_;  // SQLite has no read-only connection to a file that others write: locks change
  std::filesystem::path path_;
  StoreOptions options_;
  std::string token_;
  std::optional<std::int64_t> owner_pid_;
};

}  // namespace nocturne::db
