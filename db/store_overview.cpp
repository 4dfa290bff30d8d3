// What the finished trials of a campaign came to, without the whole of each: a page about a campaign of 100,000 trials
// reads the few that it shows.

#include <algorithm>

#include <fmt/format.h>

#include "db/connection.hpp"
#include "db/rows.hpp"
#include "db/store.hpp"
#include "db/trial_rows.hpp"

namespace nocturne::db {
namespace {

/// space::total_time() of a trial `t` at ?2 epochs: the same operations in the same order, so the same bits.
constexpr const char* kTotalTime =
    "(t.import_s + t.data_s + t.compile_s + t.first_step_excess_s"
    " + ?2 * (t.epoch_overhead_s + t.steps_per_epoch * t.steady_step_s))";

std::optional<StoredTrial> first_trial(Statement found) {
  return found.executeStep() ? std::optional(read_trial(found)) : std::nullopt;
}

/// The next two columns: configuration_values.kind and .value.
space::Value next_value(Reader& row) {
  const auto kind = row.next<std::string>();
  if (kind == "boolean") return row.next<bool>();
  if (kind == "integer") return row.next<std::int64_t>();
  if (kind == "real") return row.next<double>();
  return row.next<std::string>();
}

}  // namespace

std::map<space::Outcome, std::int64_t> Store::count_outcomes(CampaignId campaign) const {
  return connection_->read([&](const Database& database) -> std::map<space::Outcome, std::int64_t> {
    Statement rows = query(
        database, "SELECT outcome, count(*) FROM trials WHERE campaign_id = ?1 AND state = 'finished' GROUP BY outcome",
        campaign);
    std::map<space::Outcome, std::int64_t> counts;
    while (rows.executeStep()) {
      Reader row(rows);
      const auto outcome = space::outcome_from_text(row.next<std::string>()).value();
      counts[outcome] = row.next<std::int64_t>();
    }
    return counts;
  });
}

std::map<space::Purpose, std::int64_t> Store::count_processes(CampaignId campaign) const {
  return connection_->read([&](const Database& database) -> std::map<space::Purpose, std::int64_t> {
    Statement rows = query(database,
                           "SELECT purpose, count(*) FROM runs JOIN trials ON trials.id = trial_id"
                           " WHERE campaign_id = ?1 AND in_flight = 0 GROUP BY purpose",
                           campaign);
    std::map<space::Purpose, std::int64_t> counts;
    while (rows.executeStep()) {
      Reader row(rows);
      const auto purpose = space::purpose_from_text(row.next<std::string>()).value();
      counts[purpose] = row.next<std::int64_t>();
    }
    return counts;
  });
}

std::optional<StoredTrial> Store::finished_trial(CampaignId campaign, std::int64_t number) const {
  return connection_->read([&](const Database& database) -> std::optional<StoredTrial> {
    return first_trial(query(database,
                             select_trials() + "WHERE t.campaign_id = ?1 AND t.number = ?2 AND t.state = 'finished'",
                             campaign, number));
  });
}

std::optional<StoredTrial> Store::fastest(CampaignId campaign, double epochs) const {
  return connection_->read([&](const Database& database) -> std::optional<StoredTrial> {
    return first_trial(
        query(database,
              select_trials() + fmt::format("WHERE t.id = (SELECT t.id FROM trials t WHERE t.campaign_id = ?1"
                                            " AND t.outcome = 'ok' ORDER BY {}, t.number LIMIT 1)",
                                            kTotalTime),
              campaign, epochs));
  });
}

std::optional<StoredTrial> Store::first_ok(CampaignId campaign, const space::Configuration& configuration) const {
  return connection_->read([&](const Database& database) -> std::optional<StoredTrial> {
    return first_trial(query(database,
                             select_trials() + "WHERE k.identity = ?2 AND t.campaign_id = ?1 AND t.outcome = 'ok'"
                                               " ORDER BY t.number LIMIT 1",
                             campaign, configuration.identity()));
  });
}

std::vector<StoredTrial> Store::failed_trials(CampaignId campaign) const {
  return connection_->read([&](const Database& database) -> std::vector<StoredTrial> {
    Statement found = query(database,
                            select_trials() +
                                "WHERE t.id IN (SELECT id FROM trials WHERE campaign_id = ?1 AND state = 'finished' AND"
                                " (outcome < 'ok' OR outcome > 'ok')) ORDER BY t.number",
                            campaign);
    return read_trials(found);
  });
}

std::vector<LevelSummary> Store::levels(CampaignId campaign, std::string_view parameter, double epochs) const {
  return connection_->read([&](const Database& database) -> std::vector<LevelSummary> {
    const std::string of_campaign =
        "FROM trials t JOIN configuration_values v ON v.configuration_id = t.configuration_id AND v.parameter = ?3"
        " WHERE t.campaign_id = ?1 AND t.state = 'finished'";
    // Beside a single min() SQLite gives the other columns of the row that has it; of equal ones the first that it met.
    Statement rows =
        query(database,
              fmt::format("SELECT kind, value, count(t.objective_s), count(*) - count(t.objective_s), t.id,"
                          " min(CASE WHEN t.outcome = 'ok' THEN {} END) {} GROUP BY kind, value",
                          kTotalTime, of_campaign),
              campaign, epochs, parameter);
    std::vector<LevelSummary> levels;
    while (rows.executeStep()) {
      Reader row(rows);
      LevelSummary& level = levels.emplace_back(LevelSummary{.value = next_value(row)});
      TrialId fastest = 0;
      row.into(level.trained, level.failed, fastest);
      if (level.trained > 0) level.fastest = trial_by_id(database, fastest);
    }
    if (std::ranges::all_of(levels, [](const LevelSummary& each) { return each.trained > 0; })) return levels;
    Statement failures =
        query(database,
              "SELECT kind, value, t.reason, min(t.number) " + of_campaign +
                  " AND (t.outcome < 'ok' OR t.outcome > 'ok') AND t.reason <> '' GROUP BY kind, value",
              campaign, epochs, parameter);
    while (failures.executeStep()) {
      Reader row(failures);
      const auto level = std::ranges::find(levels, next_value(row), &LevelSummary::value);
      if (level->trained == 0) level->reason = row.next<std::string>();
    }
    return levels;
  });
}

std::vector<std::chrono::nanoseconds> Store::last_durations(CampaignId campaign, std::int64_t count) const {
  return connection_->read([&](const Database& database) -> std::vector<std::chrono::nanoseconds> {
    Statement rows = query(database,
                           "SELECT finished_unix_ns - reserved_unix_ns FROM (SELECT number, finished_unix_ns,"
                           " reserved_unix_ns FROM trials WHERE campaign_id = ?1 AND state = 'finished'"
                           " AND reused_from IS NULL AND finished_unix_ns >= reserved_unix_ns"
                           " ORDER BY number DESC LIMIT ?2) ORDER BY number",
                           campaign, count);
    std::vector<std::chrono::nanoseconds> durations;
    while (rows.executeStep()) durations.push_back(Reader(rows).next<std::chrono::nanoseconds>());
    return durations;
  });
}

}  // namespace nocturne::db
