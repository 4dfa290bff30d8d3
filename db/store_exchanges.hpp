#pragma once

/// The log of asks and tells in its tables.

#include <SQLiteCpp/Database.h>

#include "db/records.hpp"

namespace nocturne::db {

/// Both within a transaction of the caller.
void append_ask(SQLite::Database& database, CampaignId campaign, const Ask& ask);
void append_tell(SQLite::Database& database, CampaignId campaign, TrialId trial, const TrialResult& result);

}  // namespace nocturne::db
