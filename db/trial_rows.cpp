#include "db/trial_rows.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

namespace nocturne::db {
namespace {

std::optional<double> part(const TrialResult& result, double space::Parts::* member) {
  return result.parts ? std::optional((*result.parts).*member) : std::nullopt;
}

Error inconsistent(std::string message) {
  return {ErrorCode::Inconsistent, std::move(message)};
}

bool has_nan(const TrialResult& result) {
  const space::Estimate& e = *result.estimate;
  const space::Parts& p = *result.parts;
  return std::isnan(e.value + e.standard_error + p.import + p.data + p.compile + p.first_step_excess +
                    p.epoch_overhead + p.steps_per_epoch + p.steady_step);
}

/// An earlier row of the number, or answer of the strategy, names another configuration: then the campaign would not
/// be the one it was.
void check_past(const Database& database, CampaignId campaign, const TrialReservation& reservation,
                std::int64_t configuration) {
  const auto asked = first_value<std::int64_t>(
      database, "SELECT configuration_id FROM ask_answers WHERE campaign_id = ?1 AND number = ?2", campaign,
      reservation.number);
  if (asked && *asked != configuration) {
    throw inconsistent(fmt::format("trial {} was asked with another configuration than {}", reservation.number,
                                   reservation.configuration.canonical()));
  }
}

/// Two selects, for with `IN (t.id, t.reused_from)` SQLite makes a table for each trial, and takes ten times as long.
std::string largest_of_runs(std::string_view value, std::string_view condition = "") {
  const auto of = [&](std::string_view trial) {
    return fmt::format(
        "SELECT {} AS value FROM runs WHERE trial_id = {} AND purpose IN ('search', 'audit') AND outcome <> 'killed'{}",
        value, trial, condition);
  };
  return fmt::format("(SELECT max(value) FROM ({} UNION ALL {}))", of("t.id"), of("t.reused_from"));
}

}  // namespace

const std::string& peak_columns() {
  static const std::string kColumns = fmt::format(
      "{}, {}, {}", largest_of_runs("peak_rss_bytes"), largest_of_runs("nullif(device_bytes, 0)"),
      largest_of_runs("CASE WHEN json_valid(ready_json) THEN json_extract(ready_json, '$.device_memory_bytes') END",
                      " AND device_bytes > 0"));
  return kColumns;
}

void bind_result(SQLite::Statement& statement, int first, const TrialResult& result) {
  int index = first;
  const auto next = [&](const auto& value) { bind_value(statement, index++, value); };
  next(to_text(result.outcome));
  next(result.reason);
  next(result.estimate ? std::optional(result.estimate->value) : std::nullopt);
  next(result.estimate ? std::optional(result.estimate->standard_error) : std::nullopt);
  next(result.estimate ? std::optional(result.estimate->runs) : std::nullopt);
  next(part(result, &space::Parts::import));
  next(part(result, &space::Parts::data));
  next(part(result, &space::Parts::compile));
  next(part(result, &space::Parts::first_step_excess));
  next(part(result, &space::Parts::epoch_overhead));
  next(part(result, &space::Parts::steps_per_epoch));
  next(part(result, &space::Parts::steady_step));
}

TrialResult read_result(Reader& reader) {
  TrialResult result;
  const auto outcome = reader.next<std::optional<std::string>>();
  result.outcome = outcome ? space::outcome_from_text(*outcome).value() : space::Outcome::Killed;
  std::optional<double> value, error, import, data, compile, first_step, overhead, steps, step;
  std::optional<int> runs;
  reader.into(result.reason, value, error, runs, import, data, compile, first_step, overhead, steps, step);
  if (value)
    result.estimate = space::Estimate{.value = *value, .standard_error = error.value_or(0), .runs = runs.value_or(0)};
  if (step) {
    result.parts = space::Parts{.import = import.value_or(0),
                                .data = data.value_or(0),
                                .compile = compile.value_or(0),
                                .first_step_excess = first_step.value_or(0),
                                .epoch_overhead = overhead.value_or(0),
                                .steps_per_epoch = steps.value_or(0),
                                .steady_step = *step};
  }
  return result;
}

void check_result(const TrialResult& result) {
  const bool ok = result.outcome == space::Outcome::Ok;
  if (result.outcome == space::Outcome::Killed)
    throw inconsistent("a killed trial is not finished: it is measured again");
  if (ok != result.estimate.has_value() || ok != result.parts.has_value()) {
    throw inconsistent(fmt::format("the result of a trial that is {} must {} an estimate and parts",
                                   to_text(result.outcome), ok ? "have" : "not have"));
  }
  if (ok && has_nan(result)) throw inconsistent("the estimate of an ok trial is not a number");
}

std::string select_trials() {
  return fmt::format(
      "SELECT t.id, t.campaign_id, c.name, c.generation, t.state, t.trial_key, t.number, k.canonical_json,"
      " t.fidelity_steps, t.reserved_unix_ns, t.finished_unix_ns, t.reused_from,"
      " (SELECT count(*) FROM runs WHERE trial_id = t.id)"
      " + (SELECT count(*) FROM runs WHERE trial_id = t.reused_from), {}, {}"
      " FROM trials t JOIN campaigns c ON c.id = t.campaign_id JOIN configurations k ON k.id = t.configuration_id ",
      peak_columns(), kResultColumns);
}

StoredTrial read_trial(const SQLite::Statement& statement) {
  StoredTrial stored;
  std::string state;
  std::string canonical;
  Reader reader(statement);
  reader.into(stored.id, stored.campaign, stored.campaign_name, stored.generation, state, stored.key,
              stored.trial.number, canonical, stored.trial.fidelity.steps, stored.reserved_unix_ns,
              stored.finished_unix_ns, stored.reused_from, stored.runs, stored.trial.peak_bytes,
              stored.trial.device_bytes, stored.trial.device_memory_bytes);
  stored.state = state == "finished" ? TrialState::Finished : TrialState::Reserved;
  stored.trial.configuration = parse_configuration(canonical);
  TrialResult result = read_result(reader);
  stored.trial.outcome = result.outcome;
  stored.trial.reason = std::move(result.reason);
  stored.trial.estimate = result.estimate;
  stored.trial.parts = result.parts;
  return stored;
}

std::vector<StoredTrial> read_trials(SQLite::Statement& statement) {
  std::vector<StoredTrial> trials;
  while (statement.executeStep()) trials.push_back(read_trial(statement));
  return trials;
}

Error no_such_trial(TrialId trial) {
  return {ErrorCode::NotFound, fmt::format("there is no trial with id {}", trial)};
}

StoredTrial trial_by_id(const Database& database, TrialId trial) {
  Statement found = query(database, select_trials() + "WHERE t.id = ?1", trial);
  if (!found.executeStep()) throw no_such_trial(trial);
  return read_trial(found);
}

void write_result(Database& database, TrialId trial, const TrialResult& result) {
  Statement update = query(database,
                           "UPDATE trials SET state = 'finished', finished_unix_ns = ?2, outcome = ?3, reason = ?4,"
                           " objective_s = ?5, objective_se_s = ?6, objective_runs = ?7, import_s = ?8, data_s = ?9,"
                           " compile_s = ?10, first_step_excess_s = ?11, epoch_overhead_s = ?12, steps_per_epoch = ?13,"
                           " steady_step_s = ?14 WHERE id = ?1");
  bind_all(update, trial, now_unix_ns());
  bind_result(update, 3, result);
  update.exec();
}

TrialId write_reservation(Database& database, const std::string& owner_token, CampaignId campaign,
                          const TrialReservation& reservation) {
  const std::int64_t configuration = save_configuration(database, reservation.configuration);
  check_past(database, campaign, reservation, configuration);
  Statement found = query(
      database, "SELECT id, state, configuration_id, fidelity_steps FROM trials WHERE campaign_id = ?1 AND number = ?2",
      campaign, reservation.number);
  if (!found.executeStep()) {
    execute(database,
            "INSERT INTO trials (campaign_id, number, configuration_id, fidelity_steps, trial_key, state, reserved_by,"
            " reserved_unix_ns) VALUES (?1, ?2, ?3, ?4, ?5, 'reserved', (SELECT id FROM owners WHERE token = ?6), ?7)",
            campaign, reservation.number, configuration, reservation.fidelity.steps, reservation.key, owner_token,
            or_now(reservation.reserved_unix_ns));
    return database.getLastInsertRowid();
  }
  TrialId id = 0;
  std::string state;
  std::int64_t stored_configuration = 0;
  std::int64_t steps = 0;
  Reader(found).into(id, state, stored_configuration, steps);
  found.reset();
  if (state == "finished")
    throw inconsistent(fmt::format("trial {} is finished; it is not reserved again", reservation.number));
  if (stored_configuration != configuration || steps != reservation.fidelity.steps) {
    throw inconsistent(
        fmt::format("trial {} was interrupted with another configuration or fidelity than {} at {} steps",
                    reservation.number, reservation.configuration.canonical(), reservation.fidelity.steps));
  }
  execute(
      database,
      "UPDATE trials SET trial_key = ?2, reserved_by = (SELECT id FROM owners WHERE token = ?3), reserved_unix_ns = ?4"
      " WHERE id = ?1",
      id, reservation.key, owner_token, or_now(reservation.reserved_unix_ns));
  return id;
}

}  // namespace nocturne::db
