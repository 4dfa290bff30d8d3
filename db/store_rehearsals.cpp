#include "db/connection.hpp"
#include "db/leases.hpp"
#include "db/rows.hpp"
#include "db/store.hpp"
#include "space/outcome.hpp"

namespace nocturne::db {

Expected<void> Store::save_rehearsal(CampaignId campaign, const RehearsalRecord& rehearsal) {
  if (rehearsal.outcome == space::Outcome::Killed) {
    return std::unexpected(Error{ErrorCode::Inconsistent, "a rehearsal that was killed says nothing about its row"});
  }
  return connection_->write([&](SQLite::Database& database) -> Expected<void> {
    if (auto owner = require_owner(*connection_, campaign); !owner) {
      return owner;
    }
    execute(database,
            "INSERT OR REPLACE INTO rehearsals (campaign_id, row_json, configuration_json, outcome, reason,"
            " too_large_json, prepare_ns, train_ns, log_tail, rehearsed_unix_ns)"
            " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            campaign, rehearsal.row.canonical(), rehearsal.configuration.canonical(), to_text(rehearsal.outcome),
            rehearsal.reason, json_text(nlohmann::json(rehearsal.too_large)), rehearsal.prepare, rehearsal.train,
            rehearsal.log_tail, rehearsal.rehearsed_unix_ns == 0 ? now_unix_ns() : rehearsal.rehearsed_unix_ns);
    return {};
  });
}

Expected<std::vector<RehearsalRecord>> Store::rehearsals(CampaignId campaign) const {
  return connection_->read([&](const SQLite::Database& database) -> Expected<std::vector<RehearsalRecord>> {
    SQLite::Statement rows = query(database,
                                   "SELECT row_json, configuration_json, outcome, reason, too_large_json, prepare_ns,"
                                   " train_ns, log_tail, rehearsed_unix_ns FROM rehearsals WHERE campaign_id = ?1"
                                   " ORDER BY rehearsed_unix_ns, row_json",
                                   campaign);
    std::vector<RehearsalRecord> rehearsals;
    while (rows.executeStep()) {
      RehearsalRecord& r = rehearsals.emplace_back();
      std::string row, configuration, outcome;
      nlohmann::json too_large;
      Reader(rows).into(row, configuration, outcome, r.reason, too_large, r.prepare, r.train, r.log_tail,
                        r.rehearsed_unix_ns);
      r.row = parse_configuration(row);
      r.configuration = parse_configuration(configuration);
      r.outcome = space::outcome_from_text(outcome).value();
      r.too_large = too_large.get<std::vector<std::int64_t>>();
    }
    return rehearsals;
  });
}

}  // namespace nocturne::db
