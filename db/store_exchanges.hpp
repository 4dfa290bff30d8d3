#pragma once

/// The log of asks and tells in its tables.

#include <SQLiteCpp/Database.h>

#include "db/records.hpp"

namespace nocturne::db {

/// Within a transaction of the caller.
void append_tell(SQLite::Database& database, CampaignId campaign, TrialId trial, const TrialResult& result);

}  // namespace nocturne::db
