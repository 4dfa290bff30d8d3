#include <fmt/format.h>

#include "db/connection.hpp"
#include "db/run_rows.hpp"
#include "db/store.hpp"
#include "db/trial_rows.hpp"

namespace nocturne::db {
namespace {

/// Only what is asked for, so that an index serves it: ?1 campaign, ?2 state, ?3 outcome, ?4 configuration, ?5 limit.
std::string conditions_of(const TrialFilter& filter) {
  const bool by_value = filter.order == TrialFilter::Order::ByValue;
  std::string sql = "WHERE true";
  if (filter.campaign) sql += " AND t.campaign_id = ?1";
  if (filter.state) sql += " AND t.state = ?2";
  if (filter.outcome) sql += " AND t.outcome = ?3";
  if (!filter.configuration.empty()) sql += " AND k.identity = ?4";
  if (by_value) sql += " AND t.objective_s IS NOT NULL";
  sql += by_value ? " ORDER BY t.objective_s, t.campaign_id, t.number" : " ORDER BY t.campaign_id, t.number";
  return sql + " LIMIT coalesce(?5, -1)";
}

std::optional<StoredTrial> numbered_trial(const Database& database, CampaignId campaign, std::int64_t number) {
  Statement found = query(database, select_trials() + "WHERE t.campaign_id = ?1 AND t.number = ?2", campaign, number);
  return found.executeStep() ? std::optional(read_trial(found)) : std::nullopt;
}

}  // namespace

std::optional<StoredTrial> Store::find_equal_trial(CampaignId campaign, std::string_view key) const {
  return connection_->read([&](const Database& database) -> std::optional<StoredTrial> {
    Statement found = query(database,
                            select_trials() +
                                "WHERE t.trial_key = ?2 AND t.state = 'finished' AND (t.campaign_id = ?1 OR NOT"
                                " (SELECT is_fresh FROM campaigns WHERE id = ?1))"
                                " ORDER BY t.outcome = 'ok' DESC, t.finished_unix_ns DESC, t.id DESC LIMIT 1",
                            campaign, key);
    return found.executeStep() ? std::optional(read_trial(found)) : std::nullopt;
  });
}

std::vector<StoredTrial> Store::list_trials(const TrialFilter& filter) const {
  return connection_->read([&](const Database& database) -> std::vector<StoredTrial> {
    const auto state =
        filter.state ? std::optional(*filter.state == TrialState::Finished ? "finished" : "reserved") : std::nullopt;
    const auto outcome = filter.outcome ? std::optional(to_text(*filter.outcome)) : std::nullopt;
    Statement found = query(database, select_trials() + conditions_of(filter), filter.campaign, state, outcome,
                            filter.configuration, filter.limit);
    return read_trials(found);
  });
}

std::optional<StoredTrial> Store::find_trial(CampaignId campaign, std::int64_t number) const {
  return connection_->read([&](const Database& database) { return numbered_trial(database, campaign, number); });
}

StoredTrial Store::load_numbered_trial(CampaignId campaign, std::int64_t number) const {
  return connection_->read([&](const Database& database) {
    auto found = numbered_trial(database, campaign, number);
    if (found) return *std::move(found);
    const auto last =
        first_value<std::int64_t>(database, "SELECT max(number) FROM trials WHERE campaign_id = ?1", campaign);
    throw Error(ErrorCode::NotFound, last ? fmt::format("there is no trial {}; the last one is {}.", number, *last)
                                          : fmt::format("there is no trial {}: none was begun yet.", number));
  });
}

TrialDetail Store::load_trial(TrialId trial) const {
  return connection_->read([&](const Database& database) -> TrialDetail {
    TrialDetail detail{.stored = trial_by_id(database, trial), .runs = {}};
    Statement rows = query(database, "SELECT id FROM runs WHERE trial_id IN (?1, ?2) ORDER BY started_unix_ns, id",
                           trial, detail.stored.reused_from);
    while (rows.executeStep()) detail.runs.push_back(load_run_row(database, Reader(rows).next<std::int64_t>()));
    return detail;
  });
}

std::optional<StoredTrial> Store::best(CampaignId campaign) const {
  return connection_->read([&](const Database& database) -> std::optional<StoredTrial> {
    // A query of its own, not list_trials(): this one is asked after every trial, and finds its answer by an index.
    Statement found = query(database,
                            select_trials() +
                                "WHERE t.id = (SELECT id FROM trials WHERE campaign_id = ?1 AND objective_s IS NOT NULL"
                                " ORDER BY objective_s, number LIMIT 1)",
                            campaign);
    return found.executeStep() ? std::optional(read_trial(found)) : std::nullopt;
  });
}

}  // namespace nocturne::db
