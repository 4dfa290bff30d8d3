#include "db/connection.hpp"
#include "db/exchange_rows.hpp"
#include "db/leases.hpp"
#include "db/store.hpp"

namespace nocturne::db {

void Store::record_ask(CampaignId campaign, const Ask& ask) {
  connection_->write([&](SQLite::Database& database) {
    require_owner(*connection_, campaign);
    append_ask(database, campaign, ask);
  });
}

std::vector<Exchange> Store::exchanges(CampaignId campaign) const {
  return connection_->read(
      [&](const SQLite::Database& database) -> std::vector<Exchange> { return read_exchanges(database, campaign); });
}

}  // namespace nocturne::db
