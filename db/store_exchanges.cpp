#include "db/store_exchanges.hpp"

#include <map>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "db/connection.hpp"
#include "db/leases.hpp"
#include "db/rows.hpp"
#include "db/store.hpp"
#include "db/trial_rows.hpp"

namespace nocturne::db {
namespace {

std::int64_t append(Database& database, CampaignId campaign, std::string_view kind) {
  const std::int64_t ordinal =
      first_value<std::int64_t>(database, "SELECT max(ordinal) + 1 FROM exchanges WHERE campaign_id = ?1", campaign)
          .value_or(0);
  execute(database, "INSERT INTO exchanges (campaign_id, ordinal, kind) VALUES (?1, ?2, ?3)", campaign, ordinal, kind);
  return ordinal;
}

/// By row of configurations: the ask that it was an answer to, and its place there. Who is told of a trial was asked
/// for it before, so each configuration is parsed once.
using Places = std::unordered_map<std::int64_t, std::pair<std::int64_t, std::size_t>>;

Places read_asks(const Database& database, CampaignId campaign, std::map<std::int64_t, Exchange>& log) {
  Statement asks =
      query(database, "SELECT ordinal, strategy, seed, requested FROM asks WHERE campaign_id = ?1", campaign);
  while (asks.executeStep()) {
    std::int64_t ordinal = 0;
    Ask ask;
    Reader(asks).into(ordinal, ask.strategy, ask.seed, ask.count);
    log.emplace(ordinal, std::move(ask));
  }
  Places places;
  Statement answers = query(database,
                            "SELECT ordinal, number, configurations.id, canonical_json, purpose, reason,"
                            " predicted_log_bound, predicted_log_margin FROM ask_answers"
                            " JOIN configurations ON configurations.id = configuration_id"
                            " WHERE campaign_id = ?1 ORDER BY number",
                            campaign);
  while (answers.executeStep()) {
    std::int64_t ordinal = 0, configuration = 0;
    std::string canonical, purpose;
    AskAnswer asked;
    Reader(answers).into(ordinal, asked.number, configuration, canonical, purpose, asked.reason,
                         asked.predicted_log_bound, asked.predicted_log_margin);
    asked.purpose = space::purpose_from_text(purpose).value_or(space::Purpose::Search);
    asked.configuration = parse_configuration(canonical);
    auto& answer = std::get<Ask>(log.at(ordinal)).answer;
    places.emplace(configuration, std::pair(ordinal, answer.size()));
    answer.push_back(std::move(asked));
  }
  return places;
}

void read_tells(const Database& database, CampaignId campaign, const Places& places,
                std::map<std::int64_t, Exchange>& log) {
  Statement tells = query(
      database,
      fmt::format("SELECT e.ordinal, t.number, t.fidelity_steps, k.id, {}, e.outcome, e.reason,"
                  " e.objective_s, e.objective_se_s, e.objective_runs, e.import_s, e.data_s, e.compile_s,"
                  " e.first_step_excess_s, e.epoch_overhead_s, e.steps_per_epoch, e.steady_step_s, k.canonical_json"
                  " FROM tells e JOIN trials t ON t.id = e.trial_id"
                  " JOIN configurations k ON k.id = t.configuration_id WHERE e.campaign_id = ?1",
                  peak_columns()),
      campaign);
  while (tells.executeStep()) {
    std::int64_t ordinal = 0, configuration = 0;
    space::Trial trial;
    Reader reader(tells);
    reader.into(ordinal, trial.number, trial.fidelity.steps, configuration, trial.peak_bytes, trial.device_bytes,
                trial.device_memory_bytes);
    TrialResult result = read_result(reader);
    if (const auto place = places.find(configuration); place != places.end()) {
      const auto& [ask, index] = place->second;
      trial.configuration = std::get<Ask>(log.at(ask)).answer[index].configuration;
    } else {
      trial.configuration = parse_configuration(reader.next<std::string>());
    }
    trial.outcome = result.outcome;
    trial.reason = std::move(result.reason);
    trial.estimate = result.estimate;
    trial.parts = result.parts;
    log.emplace(ordinal, Tell{std::move(trial)});
  }
}

std::vector<Exchange> read_exchanges(const Database& database, CampaignId campaign) {
  std::map<std::int64_t, Exchange> log;
  read_tells(database, campaign, read_asks(database, campaign, log), log);
  std::vector<Exchange> ordered;
  ordered.reserve(log.size());
  for (auto& [ordinal, exchange] : log) ordered.push_back(std::move(exchange));
  return ordered;
}

}  // namespace

void append_ask(Database& database, CampaignId campaign, const Ask& ask) {
  const std::int64_t ordinal = append(database, campaign, "ask");
  execute(database, "INSERT INTO asks (campaign_id, ordinal, strategy, seed, requested) VALUES (?1, ?2, ?3, ?4, ?5)",
          campaign, ordinal, ask.strategy, ask.seed, ask.count);
  Statement answer = query(database,
                           "INSERT INTO ask_answers (campaign_id, ordinal, number, configuration_id, purpose, reason,"
                           " predicted_log_bound, predicted_log_margin) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)");
  for (const AskAnswer& asked : ask.answer) {
    execute(answer, campaign, ordinal, asked.number, save_configuration(database, asked.configuration),
            space::to_text(asked.purpose), asked.reason, asked.predicted_log_bound, asked.predicted_log_margin);
  }
}

void append_tell(Database& database, CampaignId campaign, TrialId trial, const TrialResult& result) {
  const std::int64_t ordinal = append(database, campaign, "tell");
  Statement tell = query(database, fmt::format("INSERT INTO tells (campaign_id, ordinal, trial_id, {}) VALUES (?1, ?2,"
                                               " ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
                                               kResultColumns));
  bind_all(tell, campaign, ordinal, trial);
  bind_result(tell, 4, result);
  tell.exec();
}

void Store::record_ask(CampaignId campaign, const Ask& ask) {
  connection_->write([&](Database& database) {
    require_owner(*connection_, campaign);
    append_ask(database, campaign, ask);
  });
}

std::vector<Exchange> Store::exchanges(CampaignId campaign) const {
  return connection_->read(
      [&](const Database& database) -> std::vector<Exchange> { return read_exchanges(database, campaign); });
}

}  // namespace nocturne::db
