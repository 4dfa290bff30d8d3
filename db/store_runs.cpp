#include <fmt/format.h>

#include <chrono>

#include "db/connection.hpp"
#include "db/leases.hpp"
#include "db/rows.hpp"
#include "db/run_rows.hpp"
#include "db/store.hpp"
#include "db/trial_rows.hpp"

namespace nocturne::db {
namespace {

void store_run(Connection& connection, TrialId trial, const RunRecord& run, bool in_flight) {
  connection.write([&](Database& database) {
    const auto campaign = first_value<std::int64_t>(database, "SELECT campaign_id FROM trials WHERE id = ?1", trial);
    if (!campaign) throw no_such_trial(trial);
    require_owner(connection, *campaign);
    save_run(database, trial, run, in_flight);
  });
}

}  // namespace

void Store::begin_run(TrialId trial, const RunRecord& run) {
  RunRecord begun = run;
  begun.run.outcome = space::Outcome::Killed;  // what it will have been if nothing more is heard
  return store_run(*connection_, trial, begun, true);
}

void Store::add_run(TrialId trial, const RunRecord& run) {
  return store_run(*connection_, trial, run, false);
}

StoredRun Store::load_run(std::string_view id) const {
  return connection_->read([&](const Database& database) -> StoredRun {
    const auto row = first_value<std::int64_t>(database, "SELECT id FROM runs WHERE run_id = ?1", id);
    if (!row) throw Error(ErrorCode::NotFound, fmt::format("there is no run '{}'", id));
    return load_run_row(database, *row);
  });
}

std::vector<CampaignRun> Store::gate_runs(std::int64_t first_seed, std::int64_t count) const {
  return connection_->read([&](const Database& database) -> std::vector<CampaignRun> {
    Statement rows = query(database,
                           "SELECT runs.id, campaigns.id, spec_json FROM runs JOIN trials ON trials.id = trial_id"
                           " JOIN campaigns ON campaigns.id = campaign_id WHERE runs.purpose = 'gate'"
                           " AND runs.outcome = 'ok' AND in_flight = 0 AND runs.seed >= ?1"
                           " AND runs.seed < ?1 + ?2 ORDER BY runs.seed, started_unix_ns, runs.id",
                           first_seed, count);
    std::vector<CampaignRun> runs;
    while (rows.executeStep()) {
      CampaignRun& run = runs.emplace_back();
      std::int64_t row = 0;
      Reader(rows).into(row, run.campaign, run.spec);
      run.stored = load_run_row(database, row);
    }
    return runs;
  });
}

std::vector<RunSpan> Store::run_spans(CampaignId campaign) const {
  return connection_->read([&](const Database& database) -> std::vector<RunSpan> {
    Statement rows = query(
        database,
        "SELECT run_id, trials.number, purpose, runs.outcome, in_flight, started_unix_ns, wall_ns, other_cpu, steal"
        " FROM runs JOIN trials ON trials.id = trial_id WHERE campaign_id = ?1 ORDER BY started_unix_ns, runs.id",
        campaign);
    std::vector<RunSpan> spans;
    while (rows.executeStep()) {
      RunSpan& span = spans.emplace_back();
      std::string purpose, outcome;
      Reader(rows).into(span.id, span.trial, purpose, outcome, span.in_flight, span.started_unix_ns, span.wall,
                        span.other_cpu, span.steal);
      span.purpose = space::purpose_from_text(purpose).value();
      span.outcome = space::outcome_from_text(outcome).value();
    }
    return spans;
  });
}

std::chrono::nanoseconds Store::time_beside_trials(CampaignId campaign) const {
  return connection_->read([&](const Database& database) -> std::chrono::nanoseconds {
    // The two of a pair are alive together, unless they are measured one after the other. What the user compared is no
    // part of the campaign's time, and the pairs of a trial are in its own.
    return std::chrono::nanoseconds(
        first_value<std::int64_t>(
            database,
            "SELECT coalesce(sum(ns), 0) FROM ("
            "SELECT CASE method WHEN 'sequential' THEN c.wall_ns + b.wall_ns ELSE max(c.wall_ns, b.wall_ns) END AS ns"
            " FROM comparisons JOIN pairs ON comparison_id = comparisons.id JOIN runs c ON c.id = candidate_run"
            " JOIN runs b ON b.id = baseline_run WHERE campaign_id = ?1 AND role NOT IN ('compare', 'search')"
            " UNION ALL SELECT wall_ns FROM runs JOIN trials ON trials.id = trial_id"
            " WHERE campaign_id = ?1 AND purpose = 'gate'"
            " UNION ALL SELECT build_ns FROM builds"
            " WHERE created_unix_ns >= (SELECT created_unix_ns FROM campaigns WHERE id = ?1) AND build_key IN"
            " (SELECT artifact_key FROM runs JOIN trials ON trials.id = trial_id WHERE campaign_id = ?1)"
            " UNION ALL SELECT train_ns FROM preflights WHERE campaign_id = ?1)",
            campaign)
            .value_or(0));
  });
}

}  // namespace nocturne::db
