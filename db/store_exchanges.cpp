#include "db/connection.hpp"
#include "db/exchange_rows.hpp"
#include "db/leases.hpp"
#include "db/store.hpp"

namespace nocturne::db {

Expected<void> Store::record_ask(CampaignId campaign, const Ask& ask) {
  return connection_->write([&](SQLite::Database& database) -> Expected<void> {
    if (auto owner = require_owner(*connection_, campaign); !owner) {
      return owner;
    }
    append_ask(database, campaign, ask);
    return {};
  });
}

Expected<std::vector<Exchange>> Store::exchanges(CampaignId campaign) const {
  return connection_->read([&](const SQLite::Database& database) -> Expected<std::vector<Exchange>> {
    return read_exchanges(database, campaign);
  });
}

}  // namespace nocturne::db
