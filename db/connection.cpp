#include "db/connection.hpp"

#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <random>
#include <system_error>
#include <thread>
#include <utility>

#include "db/migrations.hpp"
#include "db/open_checks.hpp"

namespace nocturne::db {
namespace {

std::string random_token() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

void set_rules(SQLite::Database& database) {
  database.exec("PRAGMA foreign_keys = ON");
  database.exec("PRAGMA synchronous = FULL");    // a stored result survives a loss of power
  database.exec("PRAGMA trusted_schema = OFF");  // the file may come from elsewhere
  database.exec("PRAGMA cell_size_check = ON");  // finds damage early
}

/// Where another process is just writing, SQLite refuses this switch at once, without its busy handler: it holds a
/// read lock by then. So the waiting is done here. Once made, the switch is kept in the file.
void switch_to_wal(SQLite::Database& database, std::chrono::milliseconds timeout) {
  const auto end = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    try {
      SQLite::Statement pragma(database, "PRAGMA journal_mode = WAL");
      pragma.executeStep();
      return;
    } catch (const SQLite::Exception& exception) {
      if ((exception.getErrorCode() & 0xff) != SQLITE_BUSY || std::chrono::steady_clock::now() >= end) throw;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
}

/// Where the locks are not to be relied upon: one connection, which keeps whatever lock there is, so that even a file
/// in WAL mode (it was moved here) is opened without memory that is shared.
void switch_to_rollback_journal(SQLite::Database& database) {
  SQLite::Statement pragma(database, "PRAGMA journal_mode = DELETE");
  pragma.executeStep();
  if (pragma.getColumn(0).getString() != "delete") throw SQLite::Exception("journal_mode", SQLITE_BUSY);
}

SQLite::Database open_for_writing(const std::filesystem::path& path, const StoreOptions& options, bool on_network) {
  SQLite::Database database(path.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE,
                            static_cast<int>(options.busy_timeout.count()));
  if (on_network) database.exec("PRAGMA locking_mode = EXCLUSIVE");
  return database;
}

std::string as_uri(const std::filesystem::path& path, std::string_view query) {
  std::string uri = "file:";
  for (const char c : std::filesystem::absolute(path).string()) {
    const bool special = c == '?' || c == '#' || c == '%';
    uri += special ? fmt::format("%{:02x}", static_cast<unsigned char>(c)) : std::string(1, c);
  }
  return fmt::format("{}?{}", uri, query);
}

/// REQUIRES: nobody changes the file.
SQLite::Database open_unchanging(const std::filesystem::path& path, const StoreOptions& options) {
  return {as_uri(path, "immutable=1"), SQLite::OPEN_READONLY | SQLite::OPEN_URI,
          static_cast<int>(options.busy_timeout.count())};
}

/// A file in WAL mode needs its -shm even to be read. In a folder that cannot be written, with nothing left in the
/// -wal, nobody else can be writing: then SQLite may read it as a file that never changes.
SQLite::Database open_for_reading(const std::filesystem::path& path, const StoreOptions& options) {
  try {
    SQLite::Database database(path.string(), SQLite::OPEN_READONLY, static_cast<int>(options.busy_timeout.count()));
    SQLite::Statement(database, "SELECT count(*) FROM sqlite_master").executeStep();
    return database;
  } catch (const SQLite::Exception& exception) {
    const int code = exception.getErrorCode() & 0xff;
    std::error_code error;
    const auto wal_bytes = std::filesystem::file_size(path.string() + "-wal", error);
    const bool has_wal = !error && wal_bytes > 0;
    if ((code != SQLITE_CANTOPEN && code != SQLITE_READONLY) || has_wal) throw;
    return open_unchanging(path, options);
  }
}

void prepare_for_writing(SQLite::Database& database, const std::filesystem::path& path, const StoreOptions& options,
                         bool on_network) {
  if (sqlite3_db_readonly(database.getHandle(), "main") == 1)  // SQLite falls back to this in silence
    throw read_only_error(path);
  const int newest = newest_version(options.migrations);
  if (check_identity(database, path, newest) == Content::Nothing) {
    create_schema(database);
    check_identity(database, path, newest);  // another program may have filled the file since
  }
  if (on_network)
    switch_to_rollback_journal(database);
  else
    switch_to_wal(database, options.busy_timeout);
  if (stored_version(database) < newest) {
    if (const auto migrated = migrate(database, options.migrations); !migrated) {
      throw Error(ErrorCode::Damaged, fmt::format("'{}' could not be brought to version {}: {}. It was left as it was.",
                                                  path.string(), newest, migrated.error()));
    }
  }
}

void check_for_reading(SQLite::Database& database, const std::filesystem::path& path, const StoreOptions& options) {
  if (check_identity(database, path, newest_version(options.migrations)) == Content::Nothing)
    throw Error(ErrorCode::NotFound, fmt::format("'{}' is empty: nothing was tuned with it yet.", path.string()));
}

Error no_such_file(const std::filesystem::path& path) {
  return {ErrorCode::NotFound, fmt::format("there is no database '{}' yet. 'nocturne tune FILE' makes it, or name "
                                           "another file with --db.",
                                           path.string())};
}

}  // namespace

Connection::Connection(SQLite::Database database, std::filesystem::path path, StoreOptions options)
    : database_(std::move(database)),
      path_(std::move(path)),
      options_(std::move(options)),
      busy_timeout_(options_.busy_timeout),
      lock_limit_(busy_timeout_),
      token_(random_token()) {
  sqlite3_busy_handler(database_.getHandle(), &Connection::wait_for_lock, this);
}

void Connection::migrate_to_read(const std::filesystem::path& path, const StoreOptions& options) {
  try {
    static_cast<void>(open(path, Mode::ReadWrite, options));
  } catch (const Error& error) {
    throw Error(ErrorCode::Older,
                fmt::format("'{}' is of an older version and must be migrated before it can be read: {}", path.string(),
                            error.what()));
  }
}

std::unique_ptr<Connection> Connection::open(const std::filesystem::path& path, Mode mode, StoreOptions options) {
  std::error_code ignored;
  if (mode == Mode::ReadOnly && !std::filesystem::exists(path, ignored)) throw no_such_file(path);
  check_header(path);
  if (mode == Mode::ReadWrite) make_folder(path);
  try {
    auto opened = open_any_version(path, mode, options);
    const int version = stored_version(opened->database());
    const int newest = newest_version(options.migrations);
    if (version >= newest) return opened;
    opened.reset();  // it was opened to be read: writing has migrated
    if (!options.migrate) throw older_error(path, version, newest);
    migrate_to_read(path, options);
    options.migrate = false;  // a copy that could not be made anew is as old as before
    return open(path, mode, options);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& exception) {
    throw describe_exception(exception, path, options.busy_timeout);
  }
}

std::unique_ptr<Connection> Connection::open_any_version(const std::filesystem::path& path, Mode mode,
                                                         const StoreOptions& options) {
  const FileSystem place = options.network.file_system(path.parent_path());
  const bool to_write = mode == Mode::ReadWrite;
  std::unique_ptr<NetworkWriter> network;
  Readable readable{.file = path, .copied_unix_ns = {}};
  if (place.remote && to_write)
    network = NetworkWriter::take(path, options.network);
  else if (place.remote)
    readable = readable_on_network(path);
  SQLite::Database database = to_write       ? open_for_writing(path, options, place.remote)
                              : place.remote ? open_unchanging(readable.file, options)
                                             : open_for_reading(path, options);
  set_rules(database);
  if (to_write)
    prepare_for_writing(database, path, options, place.remote);
  else
    check_for_reading(database, path, options);
  std::unique_ptr<Connection> connection(new Connection(std::move(database), path, options));
  if (place.remote) connection->network_type_ = place.type;
  connection->copied_unix_ns_ = readable.copied_unix_ns;
  connection->network_ = std::move(network);
  if (connection->network_) connection->network_->publish(connection->database_);
  return connection;
}

Connection::~Connection() {
  if (network_) network_->publish(database_);
}

int Connection::wait_for_lock(void* connection, int tries) noexcept {
  constexpr std::array<int, 6> kPauses{1, 2, 5, 10, 20, 50};  // milliseconds
  auto& self = *static_cast<Connection*>(connection);
  try {
    const auto now = std::chrono::steady_clock::now();
    if (tries == 0) self.locked_since_ = now;
    const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(now - self.locked_since_);
    const StoreOptions& options = self.options_;
    const bool patient =
        !options.waiting || options.waiting({.database = self.path_, .waited = waited, .limit = self.busy_timeout_});
    self.lock_limit_ = patient ? self.busy_timeout_ : std::min(self.busy_timeout_, options.busy_timeout);
    if (waited >= self.lock_limit_) return 0;
    const std::chrono::milliseconds pause(kPauses[std::min(static_cast<std::size_t>(tries), kPauses.size() - 1)]);
    std::this_thread::sleep_for(std::min(pause, self.lock_limit_ - waited));
    return 1;
  } catch (...) {  // SQLite is C
    return 0;
  }
}

void Connection::wait_as_campaign(bool campaign) {
  busy_timeout_ = campaign ? options_.campaign_busy_timeout.value_or(options_.busy_timeout) : options_.busy_timeout;
}

void Connection::check_may_write() const {
  check_not_lost();
  const int version = stored_version(database_);
  const int newest = newest_version(options_.migrations);
  if (version != newest) throw newer_error(path_, version, newest);
}

void Connection::check_not_lost() const {
  if (!network_) return;
  if (auto error = network_->lost()) throw *std::move(error);
}

bool Connection::in_transaction() const {
  return sqlite3_get_autocommit(database_.getHandle()) == 0;
}

void Connection::commit(SQLite::Transaction& transaction) {
  check_not_lost();  // meanwhile
  transaction.commit();
  if (network_) network_->committed(database_);
}

}  // namespace nocturne::db
