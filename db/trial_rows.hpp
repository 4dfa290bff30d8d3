#pragma once

/// A trial in its table, and the result columns it shares with tells. All within a transaction of the caller.

#include <optional>
#include <string>
#include <vector>

#include <SQLiteCpp/Statement.h>

#include "db/database.hpp"
#include "db/error.hpp"
#include "db/records.hpp"
#include "db/rows.hpp"

namespace nocturne::db {

/// In the order of bind_result() and read_result().
inline constexpr const char* kResultColumns =
    "outcome, reason, objective_s, objective_se_s, objective_runs, import_s, data_s, compile_s, first_step_excess_s,"
    " epoch_overhead_s, steps_per_epoch, steady_step_s";

/// peak_bytes, device_bytes and device_memory_bytes of a trial's runs, with trials as `t`. Only of runs that were there
/// when the trial was told first: what is told again when a campaign is resumed must be what was told then. A run that
/// we killed did not come to its peak. What a worker said when it was ready is looked into only where it used a device.
[[nodiscard]] const std::string& peak_columns();

/// Binds from ?`first` on.
void bind_result(SQLite::Statement& statement, int first, const TrialResult& result);
[[nodiscard]] TrialResult read_result(Reader& reader);

/// Throws Inconsistent: an ok result without estimate and parts, a failed one with them, NaN, or Killed.
void check_result(const TrialResult& result);

/// `SELECT … FROM trials …` whose rows read_trial() reads; append WHERE, with trials as `t`.
[[nodiscard]] std::string select_trials();
[[nodiscard]] StoredTrial read_trial(const SQLite::Statement& statement);
[[nodiscard]] std::vector<StoredTrial> read_trials(SQLite::Statement& statement);

[[nodiscard]] Error no_such_trial(TrialId trial);
[[nodiscard]] StoredTrial trial_by_id(const Database& database, TrialId trial);

/// The result in the row of a trial, which becomes finished.
void write_result(Database& database, TrialId trial, const TrialResult& result);

/// Gives the trial a new row, or takes an interrupted one again; throws Inconsistent where it contradicts the number's
/// past.
[[nodiscard]] TrialId write_reservation(Database& database, const std::string& owner_token, CampaignId campaign,
                                        const TrialReservation& reservation);

}  // namespace nocturne::db
