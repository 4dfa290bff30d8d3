#include <fmt/format.h>

#include "db/connection.hpp"
#include "db/leases.hpp"
#include "db/rows.hpp"
#include "db/store.hpp"

namespace nocturne::db {
namespace {

/// Gives each trial's runs to a trial of another campaign that reuses them, and makes that the one others reuse.
void hand_runs_on(Database& database, CampaignId campaign) {
  Statement heirs = query(database,
                          "SELECT t.id, min(heir.id) FROM trials t JOIN trials heir ON heir.reused_from = t.id"
                          " WHERE t.campaign_id = ?1 AND heir.campaign_id <> ?1 GROUP BY t.id",
                          campaign);
  while (heirs.executeStep()) {
    TrialId from = 0;
    TrialId heir = 0;
    Reader(heirs).into(from, heir);
    execute(database, "UPDATE runs SET trial_id = ?2 WHERE trial_id = ?1", from, heir);
    execute(database, "UPDATE trials SET reused_from = nullif(?2, id) WHERE reused_from = ?1 AND campaign_id <> ?3",
            from, heir, campaign);
  }
}

bool is_tuned(const Database& database, CampaignId campaign) {
  const auto holder = lease_holder(database, campaign);
  return holder && life_of(holder->process) != Life::Dead;
}

std::vector<std::string> read_lines(Statement rows) {
  std::vector<std::string> lines;
  while (rows.executeStep()) lines.push_back(rows.getColumn(0).getString());
  return lines;
}

}  // namespace

std::vector<RunFolder> Store::run_folders(std::int64_t started_before_unix_ns) const {
  return connection_->read([&](const Database& database) -> std::vector<RunFolder> {
    Statement rows = query(database,
                           "SELECT run_id, trial_id, folder, started_unix_ns, in_flight, campaign_id FROM runs"
                           " JOIN trials ON trials.id = trial_id"
                           " WHERE folder <> '' AND started_unix_ns < ?1 ORDER BY started_unix_ns",
                           started_before_unix_ns);
    std::vector<RunFolder> folders;
    while (rows.executeStep()) {
      RunFolder folder;
      CampaignId campaign = 0;
      Reader(rows).into(folder.run, folder.trial, folder.folder, folder.started_unix_ns, folder.in_flight, campaign);
      if (!folder.in_flight || !is_tuned(database, campaign)) folders.push_back(std::move(folder));
    }
    return folders;
  });
}

void Store::forget_run_folder(std::string_view run) {
  connection_->write(
      [&](Database& database) { execute(database, "UPDATE runs SET folder = '' WHERE run_id = ?1", run); });
}

void Store::remove_campaign(CampaignId campaign) {
  connection_->write([&](Database& database) {
    check_free(*connection_, campaign);
    hand_runs_on(database, campaign);
    if (execute(database, "DELETE FROM campaigns WHERE id = ?1", campaign) == 0)
      throw Error(ErrorCode::NotFound, fmt::format("there is no campaign with id {}", campaign));
    execute(database,
            "DELETE FROM configurations WHERE id NOT IN (SELECT configuration_id FROM trials UNION SELECT"
            " configuration_id FROM ask_answers UNION SELECT candidate_configuration_id FROM comparisons UNION SELECT"
            " baseline_configuration_id FROM comparisons)");
  });
}

void Store::compact() {
  return connection_->compact();
}

std::vector<std::string> Store::integrity_check() const {
  return connection_->read([&](const Database& database) -> std::vector<std::string> {
    std::vector<std::string> found = read_lines(query(database, "PRAGMA integrity_check"));
    std::erase(found, "ok");
    std::vector<std::string> orphans = read_lines(
        query(database,
              "SELECT format('row %d of %s refers to a row of %s that does not exist', rowid, \"table\", parent)"
              " FROM pragma_foreign_key_check"));
    found.insert(found.end(), orphans.begin(), orphans.end());
    return found;
  });
}

}  // namespace nocturne::db
