#pragma once

/// A connection of SQLite that compiles each statement once. Compiling one takes SQLite longer than most of ours run,
/// and a trial needs dozens of them. Not thread-safe.

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

namespace nocturne::db {

/// Compiled statements that nobody uses at the moment.
class IdleStatements {
 public:
  /// Compiled now where there is none of these words.
  [[nodiscard]] std::unique_ptr<SQLite::Statement> take(const SQLite::Database& database, const std::string& sql);
  /// Forgets its values, and what it has read.
  void give_back(std::unique_ptr<SQLite::Statement> statement) noexcept;

 private:
  std::unordered_map<std::string, std::vector<std::unique_ptr<SQLite::Statement>>> by_words_;
  std::size_t count_ = 0;
};

/// A compiled statement in use. Given back at the end of its life, which is before that of its connection.
class Statement {
 public:
  explicit Statement(std::unique_ptr<SQLite::Statement> statement, IdleStatements* home = nullptr)
      : statement_(std::move(statement)), home_(home) {}
  Statement(Statement&&) noexcept = default;
  Statement& operator=(Statement&&) = delete;
  ~Statement() {
    if (home_ != nullptr && statement_) home_->give_back(std::move(statement_));
  }

  // NOLINTNEXTLINE(google-explicit-constructor): it is one, wherever one is wanted
  operator SQLite::Statement&() { return *statement_; }
  // NOLINTNEXTLINE(google-explicit-constructor)
  operator const SQLite::Statement&() const { return *statement_; }
  /// False: there is no further row.
  bool executeStep() { return statement_->executeStep(); }
  void reset() { statement_->reset(); }
  int exec() { return statement_->exec(); }
  [[nodiscard]] int getColumnCount() const { return statement_->getColumnCount(); }
  [[nodiscard]] SQLite::Column getColumn(int index) const { return statement_->getColumn(index); }

 private:
  std::unique_ptr<SQLite::Statement> statement_;
  IdleStatements* home_;  // null: it is not kept
};

class Database : public SQLite::Database {
 public:
  explicit Database(SQLite::Database&& opened) : SQLite::Database(std::move(opened)) {}
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  [[nodiscard]] Statement prepared(const std::string& sql) const { return Statement(idle_.take(*this, sql), &idle_); }

 private:
  mutable IdleStatements idle_;  // gone before the connection is closed
};

}  // namespace nocturne::db
