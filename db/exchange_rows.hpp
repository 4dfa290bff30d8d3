#pragma once

/// The log of asks and tells in its tables. All within a transaction of the caller.

#include <vector>

#include <SQLiteCpp/Database.h>

#include "db/records.hpp"

namespace nocturne::db {

void append_ask(SQLite::Database& database, CampaignId campaign, const Ask& ask);
void append_tell(SQLite::Database& database, CampaignId campaign, TrialId trial, const TrialResult& result);
[[nodiscard]] std::vector<Exchange> read_exchanges(const SQLite::Database& database, CampaignId campaign);

}  // namespace nocturne::db
