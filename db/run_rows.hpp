#pragma once

/// A run in its tables: runs, samples, phases, epochs, norms, device_reports. All within a transaction of the caller.

#include <cstdint>

#include "db/database.hpp"
#include "db/error.hpp"
#include "db/records.hpp"

namespace nocturne::db {

/// Writes it with all it measured, replacing what was begun; its row. A run that ended is kept as it is. Throws
/// Inconsistent: the id is that of another trial's run, or that run ended with another outcome.
std::int64_t save_run(Database& database, TrialId trial, const RunRecord& record, bool in_flight);

/// Whole; `row` exists.
[[nodiscard]] StoredRun load_run_row(const Database& database, std::int64_t row);

}  // namespace nocturne::db
