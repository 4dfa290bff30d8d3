// A digest of what a model learns from: cheaper by far than learning it, and as exact. It reads the rows themselves,
// not counters beside them, so nothing that writes has to think of it.

#include <array>
#include <cstdint>
#include <string>

#include "db/connection.hpp"
#include "db/rows.hpp"
#include "db/store.hpp"
#include "space/digest.hpp"

namespace nocturne::db {
namespace {

/// ?1 is the campaign. A configuration stands for its id: as long as a campaign is there (its creation is among these),
/// no row of configurations that it refers to goes away or changes.
constexpr std::array kLearntFrom = {
    "SELECT created_unix_ns, name, spec_json, strategy, seed, fingerprint_hash FROM campaigns WHERE id = ?1",
    "SELECT * FROM parameters WHERE campaign_id = ?1 ORDER BY position",
    "SELECT h.source_id, h.is_same, h.trials, c.created_unix_ns, c.name FROM histories h"
    " JOIN campaigns c ON c.id = h.source_id WHERE h.campaign_id = ?1 ORDER BY h.position",
    "SELECT peaks_json FROM peak_figures WHERE campaign_id = ?1",
    "SELECT * FROM noise_floors WHERE ?1 IS NOT NULL ORDER BY fingerprint_hash, workload, method, estimator",
    "SELECT ordinal, number, configuration_id, purpose, reason, predicted_log_bound, predicted_log_margin FROM "
    "ask_answers"
    " WHERE campaign_id = ?1 ORDER BY number",
    "SELECT * FROM tells WHERE campaign_id = ?1 ORDER BY ordinal",
    "SELECT c.role, c.candidate_configuration_id, c.baseline_configuration_id, v.* FROM comparisons c JOIN verdicts v "
    "ON v.comparison_id = c.id"
    " WHERE c.campaign_id = ?1 ORDER BY c.id, v.horizon_epochs",
    "SELECT t.* FROM (SELECT ?1 AS id UNION SELECT source_id FROM histories WHERE campaign_id = ?1) c"
    " CROSS JOIN trials t ON t.campaign_id = c.id",
    "SELECT t.id, r.purpose, r.outcome, r.peak_rss_bytes, r.device_bytes,"
    " CASE WHEN r.device_bytes > 0 THEN r.ready_json END"
    " FROM (SELECT ?1 AS id UNION SELECT source_id FROM histories WHERE campaign_id = ?1) c"
    " CROSS JOIN trials t ON t.campaign_id = c.id"
    " CROSS JOIN runs r INDEXED BY runs_by_trial ON r.trial_id IN (t.id, t.reused_from)",
};

void append_bytes(std::string& bytes, char kind, const void* content, std::size_t size) {
  bytes += kind;
  bytes.append(reinterpret_cast<const char*>(&size), sizeof size);  // so that no two lists of columns read alike
  bytes.append(static_cast<const char*>(content), size);
}

void append_column(std::string& bytes, const SQLite::Column& column) {
  if (column.isNull()) {
    bytes += 'n';
  } else if (column.isInteger()) {
    const std::int64_t number = column.getInt64();
    append_bytes(bytes, 'i', &number, sizeof number);
  } else if (column.isFloat()) {
    const double number = column.getDouble();
    append_bytes(bytes, 'r', &number, sizeof number);
  } else {
    append_bytes(bytes, 't', column.getBlob(), static_cast<std::size_t>(column.getBytes()));
  }
}

}  // namespace

std::string Store::learning_digest(CampaignId campaign) const {
  return connection_->read([&](const Database& database) -> std::string {
    constexpr std::size_t kPiece = 1 << 16;
    space::Sha256 digest;
    std::string bytes;
    for (const char* sql : kLearntFrom) {
      Statement rows = query(database, sql, campaign);
      const int columns = rows.getColumnCount();
      while (rows.executeStep()) {
        for (int column = 0; column < columns; ++column) append_column(bytes, rows.getColumn(column));
        if (bytes.size() < kPiece) continue;
        digest.update(bytes);
        bytes.clear();
      }
      bytes += ';';
    }
    digest.update(bytes);
    return digest.finish();
  });
}

}  // namespace nocturne::db
