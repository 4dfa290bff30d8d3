#include "db/database.hpp"

namespace nocturne::db {
namespace {

/// More than there are in the store. Beyond that nothing is kept: words that are made up anew each time would fill the
/// memory.
constexpr std::size_t kMostIdle = 512;

}  // namespace

std::unique_ptr<SQLite::Statement> IdleStatements::take(const SQLite::Database& database, const std::string& sql) {
  const auto known = by_words_.find(sql);
  if (known == by_words_.end() || known->second.empty()) return std::make_unique<SQLite::Statement>(database, sql);
  auto statement = std::move(known->second.back());
  known->second.pop_back();
  --count_;
  return statement;
}

void IdleStatements::give_back(std::unique_ptr<SQLite::Statement> statement) noexcept {
  try {
    if (count_ == kMostIdle) return;
    (void)statement->tryReset();  // what it ended with was told already
    statement->clearBindings();
    by_words_[statement->getQuery()].push_back(std::move(statement));
    ++count_;
  } catch (...) {  // then it is not kept
  }
}

}  // namespace nocturne::db
