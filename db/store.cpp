#include "db/store.hpp"

#include <unistd.h>

#include "db/connection.hpp"
#include "db/leases.hpp"

namespace nocturne::db {

Expected<Store> Store::open(const std::filesystem::path& path, Mode mode, StoreOptions options) {
  auto connection = Connection::open(path, mode, options);
  if (!connection) {
    return std::unexpected(std::move(connection.error()));
  }
  return Store(*std::move(connection));
}

Store::Store(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}
Store::Store(Store&&) noexcept = default;

Store& Store::operator=(Store&& other) noexcept {
  std::swap(connection_, other.connection_);  // `other` releases what this one held
  return *this;
}

Store::~Store() {
  // A forked child's copy must not give away what the parent still holds.
  if (connection_ && connection_->owner_pid() == ::getpid()) {
    // An error is no harm: the lease of a dead process counts for nothing.
    static_cast<void>(connection_->write([this](SQLite::Database&) -> Expected<void> {
      release_leases(*connection_);
      return {};
    }));
  }
}

const std::filesystem::path& Store::path() const {
  return connection_->path();
}

}  // namespace nocturne::db
