#pragma once

/// What several subjects of the store write. All within a transaction of the caller.

#include <SQLiteCpp/Database.h>

#include "db/records.hpp"

namespace nocturne::db {

/// Known already: nothing happens.
void insert_fingerprint(SQLite::Database& database, const FingerprintRecord& fingerprint);

}  // namespace nocturne::db
