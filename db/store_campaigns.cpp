#include <fmt/format.h>
#include <fmt/ranges.h>

#include "db/connection.hpp"
#include "db/leases.hpp"
#include "db/rows.hpp"
#include "db/shared_rows.hpp"
#include "db/store.hpp"

namespace nocturne::db {
namespace {

constexpr const char* kSelect =
    "SELECT id, name, generation, identity, spec_json, strategy, seed, fingerprint_hash, is_fresh, created_unix_ns,"
    " opened_unix_ns, finished_unix_ns,"
    " (SELECT count(*) FROM trials WHERE campaign_id = c.id),"
    " (SELECT count(*) FROM trials WHERE campaign_id = c.id AND state = 'finished'),"
    " (SELECT count(*) FROM trials WHERE campaign_id = c.id AND outcome = 'ok')"
    " FROM campaigns c ";

CampaignSummary read_summary(const Database& database, const SQLite::Statement& row) {
  CampaignSummary summary;
  std::optional<std::string> fingerprint;
  Reader(row).into(summary.id, summary.name, summary.generation, summary.identity, summary.spec, summary.strategy,
                   summary.seed, fingerprint, summary.fresh, summary.created_unix_ns, summary.opened_unix_ns,
                   summary.finished_unix_ns, summary.trials, summary.finished, summary.ok);
  summary.fingerprint = fingerprint.value_or("");
  const auto holder = lease_holder(database, summary.id);
  if (holder && life_of(holder->process) != Life::Dead) summary.owner_pid = holder->process.pid;
  return summary;
}

std::vector<CampaignSummary> read_summaries(const Database& database, Statement rows) {
  std::vector<CampaignSummary> summaries;
  while (rows.executeStep()) summaries.push_back(read_summary(database, rows));
  return summaries;
}

CampaignId insert_generation(Database& database, const CampaignRecord& record) {
  execute(database,
          "INSERT INTO campaigns (name, generation, identity, spec_json, strategy, seed, is_fresh, created_unix_ns,"
          " opened_unix_ns) VALUES (?1, (SELECT coalesce(max(generation), 0) + 1 FROM campaigns WHERE name = ?1), ?2,"
          " ?3, ?4, ?5, ?6, ?7, ?7)",
          record.name, record.identity, json_text(record.spec), record.strategy, record.seed, record.fresh,
          now_unix_ns());
  return database.getLastInsertRowid();
}

/// What may differ from session to session.
void update_campaign(Database& database, CampaignId campaign, const CampaignRecord& record) {
  const auto fingerprint = insert_fingerprint(database, record.fingerprint);
  execute(database,
          "UPDATE campaigns SET spec_json = ?2, strategy = ?3, seed = ?4, fingerprint_hash = ?5, opened_unix_ns = ?6,"
          " finished_unix_ns = NULL WHERE id = ?1",
          campaign, json_text(record.spec), record.strategy, record.seed, fingerprint, now_unix_ns());
  execute(database, "DELETE FROM parameters WHERE campaign_id = ?1", campaign);
  insert_parameters(database, campaign, record.parameters);
}

void write_history(Database& database, CampaignId campaign, const CampaignRecord& record, bool is_new) {
  if (!record.history) execute(database, "DELETE FROM histories WHERE campaign_id = ?1", campaign);
  if (!record.history || !is_new) return;
  std::int64_t position = 0;
  for (const HistorySource& source : *record.history) {
    execute(database,
            "INSERT INTO histories (campaign_id, position, source_id, is_same, trials) VALUES (?1, ?2, ?3, ?4, ?5)",
            campaign, position++, source.campaign, source.same, source.trials);
  }
}

CampaignHandle read_handle(const Database& database, CampaignId campaign, bool resumed) {
  Statement row = query(database,
                        "SELECT generation,"
                        " (SELECT coalesce(max(number) + 1, 0) FROM (SELECT number FROM trials WHERE"
                        " campaign_id = c.id UNION ALL SELECT number FROM ask_answers WHERE campaign_id = c.id)),"
                        " (SELECT count(*) FROM trials WHERE campaign_id = c.id AND state = 'finished')"
                        " FROM campaigns c WHERE id = ?1",
                        campaign);
  row.executeStep();
  CampaignHandle handle{.id = campaign, .resumed = resumed};
  Reader(row).into(handle.generation, handle.trials, handle.finished);
  return handle;
}

std::optional<CampaignSummary> named_campaign(const Database& database, std::string_view name,
                                              std::optional<std::int64_t> generation) {
  auto found =
      read_summaries(database, query(database,
                                     std::string(kSelect) + "WHERE name = ?1 AND generation = coalesce(?2, generation)"
                                                            " ORDER BY opened_unix_ns DESC, id DESC LIMIT 1",
                                     name, generation));
  return found.empty() ? std::nullopt : std::optional(std::move(found.front()));
}

Error no_such_campaign(const Database& database, const std::filesystem::path& path, std::string_view name,
                       std::optional<std::int64_t> generation) {
  if (const auto newest =
          first_value<std::int64_t>(database, "SELECT max(generation) FROM campaigns WHERE name = ?1", name)) {
    return {ErrorCode::NotFound, fmt::format("campaign '{}' has no generation {}; its newest is {}.", name,
                                             generation.value_or(0), *newest)};
  }
  std::vector<std::string> known;
  Statement names =
      query(database, "SELECT name FROM campaigns GROUP BY name ORDER BY max(opened_unix_ns) DESC LIMIT 8");
  while (names.executeStep()) known.push_back(fmt::format("'{}'", names.getColumn(0).getString()));
  return {ErrorCode::NotFound,
          known.empty() ? fmt::format("'{}' holds no campaign yet. 'nocturne tune FILE' begins one.", path.string())
                        : fmt::format("there is no campaign '{}' in '{}'; there is {}.", name, path.string(),
                                      fmt::join(known, ", "))};
}

}  // namespace

std::optional<CampaignId> find_equal(const Database& database, const CampaignRecord& record) {
  return first_value<std::int64_t>(
      database, "SELECT id FROM campaigns WHERE name = ?1 AND identity = ?2 ORDER BY generation DESC LIMIT 1",
      record.name, record.identity);
}

void insert_parameters(Database& database, CampaignId campaign, std::span<const ParameterRecord> parameters) {
  Statement insert = query(database,
                           "INSERT INTO parameters (campaign_id, position, name, stage, domain_json, default_json,"
                           " active_if, unit, description) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)");
  std::int64_t position = 0;
  for (const ParameterRecord& p : parameters) {
    execute(insert, campaign, position++, p.name, to_text(p.stage), json_text(p.domain), json_text(p.default_value),
            p.active_if, p.unit, p.description);
  }
}

CampaignHandle Store::begin_or_resume_campaign(const CampaignRecord& record) {
  auto handle = connection_->write([&](Database& database) -> CampaignHandle {
    const auto known = record.fresh ? std::nullopt : find_equal(database, record);
    const CampaignId id = known ? *known : insert_generation(database, record);
    take_lease(*connection_, id);
    update_campaign(database, id, record);
    write_history(database, id, record, !known);
    return read_handle(database, id, known.has_value());
  });
  connection_->wait_as_campaign(true);
  return handle;
}

void Store::finish_campaign(CampaignId campaign) {
  connection_->write([&](Database& database) {
    require_owner(*connection_, campaign);
    execute(database, "UPDATE campaigns SET finished_unix_ns = ?2 WHERE id = ?1", campaign, now_unix_ns());
  });
}

void Store::release_campaign(CampaignId campaign) {
  connection_->write([&](Database& database) {
    require_owner(*connection_, campaign);
    execute(database, "DELETE FROM leases WHERE campaign_id = ?1", campaign);
  });
}

std::vector<CampaignSummary> Store::list_campaigns() const {
  return connection_->read([&](const Database& database) -> std::vector<CampaignSummary> {
    return read_summaries(database, query(database, std::string(kSelect) + "ORDER BY opened_unix_ns DESC, id DESC"));
  });
}

std::optional<CampaignSummary> Store::find_campaign(std::string_view name,
                                                    std::optional<std::int64_t> generation) const {
  return connection_->read([&](const Database& database) { return named_campaign(database, name, generation); });
}

CampaignSummary Store::load_campaign(std::string_view name, std::optional<std::int64_t> generation) const {
  return connection_->read([&](const Database& database) {
    auto found = named_campaign(database, name, generation);
    if (!found) throw no_such_campaign(database, connection_->path(), name, generation);
    return *std::move(found);
  });
}

std::vector<ParameterRecord> Store::parameters(CampaignId campaign) const {
  return connection_->read([&](const Database& database) -> std::vector<ParameterRecord> {
    Statement rows = query(database,
                           "SELECT name, stage, domain_json, default_json, active_if, unit, description"
                           " FROM parameters WHERE campaign_id = ?1 ORDER BY position",
                           campaign);
    std::vector<ParameterRecord> parameters;
    while (rows.executeStep()) {
      ParameterRecord& p = parameters.emplace_back();
      std::string stage;
      Reader(rows).into(p.name, stage, p.domain, p.default_value, p.active_if, p.unit, p.description);
      p.stage = space::stage_from_text(stage).value();
    }
    return parameters;
  });
}

std::vector<HistorySource> Store::history(CampaignId campaign) const {
  return connection_->read([&](const Database& database) -> std::vector<HistorySource> {
    Statement rows =
        query(database, "SELECT source_id, is_same, trials FROM histories WHERE campaign_id = ?1 ORDER BY position",
              campaign);
    std::vector<HistorySource> sources;
    while (rows.executeStep()) {
      HistorySource& source = sources.emplace_back();
      Reader(rows).into(source.campaign, source.same, source.trials);
    }
    return sources;
  });
}

}  // namespace nocturne::db
