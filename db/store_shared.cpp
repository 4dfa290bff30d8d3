#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "db/connection.hpp"
#include "db/rows.hpp"
#include "db/shared_rows.hpp"
#include "db/store.hpp"
#include "space/names.hpp"

namespace nocturne::db {
namespace {

constexpr std::array<std::string_view, 3> kLevels = {"info", "warning", "error"};

}  // namespace

std::optional<std::string> environment_of(const BuildRecord& build) {
  if (!build.flags.is_object()) return std::nullopt;
  const auto found = build.flags.find("environment");
  if (found == build.flags.end() || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

std::string_view to_text(Level level) {
  return space::name_of(level, kLevels);
}

std::optional<std::string> insert_fingerprint(Database& database, const FingerprintRecord& fingerprint) {
  if (fingerprint.hash.empty()) return std::nullopt;
  execute(database,
          "INSERT INTO fingerprints (hash, fields_json, first_seen_unix_ns) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
          fingerprint.hash, json_text(fingerprint.fields), now_unix_ns());
  return fingerprint.hash;
}

void Store::save_fingerprint(const FingerprintRecord& fingerprint) {
  connection_->write([&](Database& database) { insert_fingerprint(database, fingerprint); });
}

std::optional<FingerprintRecord> Store::find_fingerprint(std::string_view hash) const {
  return connection_->read([&](const Database& database) -> std::optional<FingerprintRecord> {
    Statement row = query(database, "SELECT hash, fields_json FROM fingerprints WHERE hash = ?1", hash);
    if (!row.executeStep()) return std::nullopt;
    FingerprintRecord record;
    Reader(row).into(record.hash, record.fields);
    return record;
  });
}

FingerprintRecord Store::load_fingerprint(std::string_view hash) const {
  auto found = find_fingerprint(hash);
  if (!found) throw Error(ErrorCode::NotFound, fmt::format("there is no fingerprint '{}'", hash));
  return *std::move(found);
}

void Store::save_build(const BuildRecord& build) {
  connection_->write([&](Database& database) {
    execute(database,
            "INSERT INTO builds (build_key, program, compiler, flags_json, folder, build_ns, size_bytes,"
            " created_unix_ns, last_used_unix_ns) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"
            " ON CONFLICT (build_key) DO UPDATE SET program = ?2, compiler = ?3, flags_json = ?4, folder = ?5,"
            " build_ns = ?6, size_bytes = ?7, last_used_unix_ns = ?9",
            build.key, build.program, build.compiler, json_text(build.flags), build.folder, build.build_ns,
            build.size_bytes, or_now(build.created_unix_ns), or_now(build.last_used_unix_ns));
  });
}

std::vector<BuildRecord> Store::list_builds() const {
  return connection_->read([&](const Database& database) -> std::vector<BuildRecord> {
    Statement rows =
        query(database,
              "SELECT build_key, program, compiler, flags_json, folder, build_ns, size_bytes,"
              " created_unix_ns, last_used_unix_ns FROM builds ORDER BY last_used_unix_ns DESC, build_key");
    std::vector<BuildRecord> builds;
    while (rows.executeStep()) {
      BuildRecord& b = builds.emplace_back();
      Reader(rows).into(b.key, b.program, b.compiler, b.flags, b.folder, b.build_ns, b.size_bytes, b.created_unix_ns,
                        b.last_used_unix_ns);
    }
    return builds;
  });
}

void Store::forget_build(std::string_view key) {
  connection_->write([&](Database& database) { execute(database, "DELETE FROM builds WHERE build_key = ?1", key); });
}

void Store::append_event(const EventRecord& event) {
  connection_->write([&](Database& database) {
    execute(database, "INSERT INTO events (campaign_id, time_unix_ns, level, what) VALUES (?1, ?2, ?3, ?4)",
            event.campaign, or_now(event.time_unix_ns), to_text(event.level), event.what);
  });
}

void Store::try_append_event(const EventRecord& event) noexcept {
  try {
    append_event(event);
  } catch (const std::exception&) {
    // What follows will meet the same error, and end with its sentence.
  }
}

std::vector<EventRecord> Store::events(std::optional<CampaignId> campaign, std::int64_t limit) const {
  return connection_->read([&](const Database& database) -> std::vector<EventRecord> {
    Statement rows = query(database,
                           "SELECT campaign_id, time_unix_ns, level, what FROM events"
                           " WHERE ?1 IS NULL OR campaign_id = ?1 ORDER BY time_unix_ns DESC, id DESC LIMIT ?2",
                           campaign, limit);
    std::vector<EventRecord> events;
    while (rows.executeStep()) {
      EventRecord& e = events.emplace_back();
      std::string level;
      Reader(rows).into(e.campaign, e.time_unix_ns, level, e.what);
      e.level = space::named<Level>(level, kLevels).value_or(Level::Info);
    }
    std::reverse(events.begin(), events.end());
    return events;
  });
}

}  // namespace nocturne::db
