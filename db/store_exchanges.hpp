#pragma once

/// The log of asks and tells in its tables.

#include "db/database.hpp"
#include "db/records.hpp"

namespace nocturne::db {

/// Both within a transaction of the caller.
void append_ask(Database& database, CampaignId campaign, const Ask& ask);
void append_tell(Database& database, CampaignId campaign, TrialId trial, const TrialResult& result);

}  // namespace nocturne::db
