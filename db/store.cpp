#include "db/store.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "db/connection.hpp"
#include "db/leases.hpp"
#include "db/rows.hpp"

namespace nocturne::db {

Store Store::open(const std::filesystem::path& path, Mode mode, StoreOptions options) {
  return Store(Connection::open(path, mode, std::move(options)));
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
    connection_->wait_as_campaign(false);
    try {
      connection_->write([this](Database&) { release_leases(*connection_); });
    } catch (const std::exception&) {
      // No harm: the lease of a dead process counts for nothing.
    }
  }
}

void Store::write_together(const std::function<void()>& body) {
  connection_->write([&](Database&) { body(); });
}

const std::filesystem::path& Store::path() const {
  return connection_->path();
}

std::optional<std::int64_t> Store::copied_unix_ns() const {
  return connection_->copied_unix_ns();
}

std::string Store::notice() const {
  const std::string& type = connection_->network_type();
  if (type.empty()) return {};
  std::string place = fmt::format("'{}' lies on a network file system ({})", path().string(), type);
  if (connection_->writes_on_network())
    return fmt::format("{}: this program alone writes it meanwhile, others read a copy beside it", place);
  const auto copied = copied_unix_ns();
  if (!copied) return place;
  const std::int64_t seconds = std::max<std::int64_t>(0, now_unix_ns() - *copied) / 1'000'000'000;
  const std::string age = seconds < 120 ? fmt::format("{} s", seconds) : fmt::format("{} min", seconds / 60);
  return fmt::format("{}: this is read from a copy that is {} old", place, age);
}

}  // namespace nocturne::db
