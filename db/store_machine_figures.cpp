#include "db/connection.hpp"
#include "db/leases.hpp"
#include "db/rows.hpp"
#include "db/store.hpp"

namespace nocturne::db {
namespace {

std::optional<nlohmann::json> one_document(const Connection& connection, const std::string& sql, const auto& key) {
  return connection.read([&](const Database& database) -> std::optional<nlohmann::json> {
    Statement row = query(database, sql, key);
    if (!row.executeStep()) return std::optional<nlohmann::json>();
    return std::optional<nlohmann::json>(Reader(row).next<nlohmann::json>());
  });
}

}  // namespace

void Store::save_machine_figures(const MachineFiguresRecord& record) {
  connection_->write([&](Database& database) {
    execute(database,
            "INSERT OR REPLACE INTO machine_figures (machine_key, fields_json, figures_json, measured_unix_ns)"
            " VALUES (?1, ?2, ?3, ?4)",
            record.key, json_text(record.fields), json_text(record.figures),
            record.measured_unix_ns == 0 ? now_unix_ns() : record.measured_unix_ns);
  });
}

std::optional<MachineFiguresRecord> Store::machine_figures(std::string_view key) const {
  return connection_->read([&](const Database& database) -> std::optional<MachineFiguresRecord> {
    Statement row = query(database,
                          "SELECT machine_key, fields_json, figures_json, measured_unix_ns"
                          " FROM machine_figures WHERE machine_key = ?1",
                          key);
    if (!row.executeStep()) return std::optional<MachineFiguresRecord>();
    MachineFiguresRecord record;
    Reader(row).into(record.key, record.fields, record.figures, record.measured_unix_ns);
    return std::optional<MachineFiguresRecord>(std::move(record));
  });
}

void Store::save_network(std::string_view name, const nlohmann::json& description) {
  connection_->write([&](Database& database) {
    execute(database, "INSERT OR REPLACE INTO networks (name, description_json, described_unix_ns) VALUES (?1, ?2, ?3)",
            name, json_text(description), now_unix_ns());
  });
}

std::optional<nlohmann::json> Store::network(std::string_view name) const {
  return one_document(*connection_, "SELECT description_json FROM networks WHERE name = ?1", name);
}

void Store::save_peaks(CampaignId campaign, const nlohmann::json& peaks) {
  connection_->write([&](Database& database) {
    require_owner(*connection_, campaign);
    execute(database, "INSERT OR REPLACE INTO peak_figures (campaign_id, peaks_json) VALUES (?1, ?2)", campaign,
            json_text(peaks));
  });
}

std::optional<nlohmann::json> Store::peaks(CampaignId campaign) const {
  return one_document(*connection_, "SELECT peaks_json FROM peak_figures WHERE campaign_id = ?1", campaign);
}

}  // namespace nocturne::db
