#include <fmt/format.h>

#include "db/connection.hpp"
#include "db/leases.hpp"
#include "db/run_rows.hpp"
#include "db/store.hpp"
#include "db/store_exchanges.hpp"
#include "db/trial_rows.hpp"

namespace nocturne::db {
namespace {

/// The campaign of a trial, if this connection may write it and it is in the given state.
CampaignId campaign_of(const Connection& connection, TrialId trial, TrialState state) {
  Statement found = query(connection.database(),
                          "SELECT campaign_id, state = 'finished', number, name FROM trials"
                          " JOIN campaigns ON campaigns.id = campaign_id WHERE trials.id = ?1",
                          trial);
  if (!found.executeStep()) throw no_such_trial(trial);
  CampaignId campaign{};
  bool is_finished = false;
  std::int64_t number = 0;
  std::string name;
  Reader(found).into(campaign, is_finished, number, name);
  require_owner(connection, campaign);
  if (is_finished != (state == TrialState::Finished)) {
    throw Error(ErrorCode::Inconsistent, fmt::format("trial {} of campaign '{}' is {}", number, name,
                                                     is_finished ? "finished already" : "not finished yet"));
  }
  return campaign;
}

/// Result and tell, in a transaction.
void write_and_tell(const Connection& connection, Database& database, TrialId trial, TrialState state,
                    const TrialResult& result) {
  const CampaignId campaign = campaign_of(connection, trial, state);
  write_result(database, trial, result);
  append_tell(database, campaign, trial, result);
}

void store_result(Connection& connection, TrialId trial, TrialState state, const TrialResult& result,
                  std::span<const RunRecord> runs) {
  check_result(result);
  connection.write([&](Database& database) {
    write_and_tell(connection, database, trial, state, result);
    for (const RunRecord& run : runs) save_run(database, trial, run, false);
  });
}

}  // namespace

TrialId Store::reserve_trial(CampaignId campaign, const TrialReservation& reservation) {
  return connection_->write([&](Database& database) -> TrialId {
    require_owner(*connection_, campaign);
    return write_reservation(database, connection_->token(), campaign, reservation);
  });
}

void Store::finish_trial(TrialId trial, const TrialResult& result, std::span<const RunRecord> runs) {
  return store_result(*connection_, trial, TrialState::Reserved, result, runs);
}

void Store::update_trial(TrialId trial, const TrialResult& result, std::span<const RunRecord> runs) {
  return store_result(*connection_, trial, TrialState::Finished, result, runs);
}

void Store::update_trials(std::span<const std::pair<TrialId, TrialResult>> results) {
  for (const auto& [trial, result] : results) check_result(result);
  connection_->write([&](Database& database) {
    for (const auto& [trial, result] : results)
      write_and_tell(*connection_, database, trial, TrialState::Finished, result);
  });
}

TrialId Store::reuse_trial(CampaignId campaign, const TrialReservation& reservation, TrialId source) {
  return connection_->write([&](Database& database) -> TrialId {
    require_owner(*connection_, campaign);
    const auto equal = trial_by_id(database, source);
    if (equal.state != TrialState::Finished || equal.key != reservation.key) {
      throw Error(ErrorCode::Inconsistent, fmt::format("trial {} of campaign '{}' is not finished, or not an equal one",
                                                       equal.trial.number, equal.campaign_name));
    }
    const auto id = write_reservation(database, connection_->token(), campaign, reservation);
    const TrialResult result = result_of(equal.trial);
    write_result(database, id, result);
    // Always the trial that has the runs: chains would have to be followed by every reader.
    execute(database, "UPDATE trials SET reused_from = ?2 WHERE id = ?1", id, equal.reused_from.value_or(source));
    append_tell(database, campaign, id, result);
    return id;
  });
}

Recovery Store::recover_interrupted(CampaignId campaign) {
  return connection_->write([&](Database& database) -> Recovery {
    require_owner(*connection_, campaign);
    // Only the holder of the lease reserves trials: what another store reserved, its owner left behind.
    const std::string interrupted =
        "t.campaign_id = ?1 AND t.state = 'reserved'"
        " AND t.reserved_by IS NOT (SELECT id FROM owners WHERE token = ?2)";
    Statement found = query(database, select_trials() + "WHERE " + interrupted + " ORDER BY t.number", campaign,
                            connection_->token());
    Recovery recovered{.trials = read_trials(found)};
    // A pair or an audit may have been cut short as well, in a trial that is finished.
    recovered.runs = execute(
        database,
        "UPDATE runs SET in_flight = 0, outcome = 'killed', reason = 'the tuner ended while this run was in flight'"
        " WHERE in_flight = 1 AND trial_id IN (SELECT t.id FROM trials t WHERE t.campaign_id = ?1"
        " AND (t.state = 'finished' OR t.reserved_by IS NOT (SELECT id FROM owners WHERE token = ?2)))",
        campaign, connection_->token());
    return recovered;
  });
}

}  // namespace nocturne::db
