#include <SQLiteCpp/Backup.h>
#include <SQLiteCpp/Statement.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <system_error>
#include <utility>

#include "db/connection.hpp"
#include "db/rows.hpp"

namespace nocturne::db {
namespace {

constexpr int kPagesBetweenLooks = 256;

/// An empty file, the user's own, that is gone at the end. One that cannot be made is seen by who fills it.
class PassingFile {
 public:
  explicit PassingFile(std::filesystem::path path) : path_(std::move(path)) {
    remove();
    const int descriptor = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (descriptor >= 0) ::close(descriptor);
  }
  PassingFile(const PassingFile&) = delete;
  PassingFile& operator=(const PassingFile&) = delete;
  ~PassingFile() { remove(); }
  [[nodiscard]] std::string name() const { return path_.string(); }

 private:
  void remove() const {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  std::filesystem::path path_;
};

}  // namespace

void Connection::compact() {
  described([this] {
    check_may_write();
    if (network_) return compact_on_network();
    database_.exec("VACUUM");
    SQLite::Statement(database_, "PRAGMA wal_checkpoint(TRUNCATE)").executeStep();
  });
}

// VACUUM takes long, and asks nobody between its first page and its last. So the compact database is made beside this
// one, and copied back in a transaction that looks for the lease until just before it is committed.
void Connection::compact_on_network() {
  const PassingFile made(path_.string() + "-compact");
  execute(database_, "VACUUM INTO ?1", made.name());
  {
    SQLite::Database compacted(made.name(), SQLite::OPEN_READONLY);
    SQLite::Backup back(database_, compacted);  // ended before its last page, it is rolled back
    for (int step = SQLITE_OK; step != SQLITE_DONE;) {
      check_not_lost();
      step = back.executeStep(kPagesBetweenLooks);
      if (step != SQLITE_OK && step != SQLITE_DONE) throw SQLite::Exception("the compacted pages", step);
    }
  }
  network_->committed(database_);
}

}  // namespace nocturne::db
