#include <map>
#include <set>

#include <fmt/format.h>

#include "db/connection.hpp"
#include "db/rows.hpp"
#include "db/shared_rows.hpp"
#include "db/store.hpp"
#include "db/store_exchanges.hpp"
#include "db/trial_rows.hpp"

namespace nocturne::db {
namespace {

/// Who is said to have asked.
constexpr const char* kImportAsk = "import";

CampaignId insert_imported(Database& database, const ImportedCampaign& imported) {
  const CampaignRecord& record = imported.record;
  const auto fingerprint = insert_fingerprint(database, record.fingerprint);
  execute(database,
          "INSERT INTO campaigns (name, generation, identity, spec_json, strategy, seed, fingerprint_hash, is_fresh,"
          " created_unix_ns, opened_unix_ns) VALUES (?1, (SELECT coalesce(max(generation), 0) + 1 FROM campaigns"
          " WHERE name = ?1), ?2, ?3, ?4, ?5, ?6, 0, ?7,"
          // Behind all that was opened here: the name of none means the one opened last.
          " min(?7, coalesce((SELECT min(opened_unix_ns) FROM campaigns) - 1, ?7)))",
          record.name, record.identity, json_text(record.spec), record.strategy, record.seed, fingerprint,
          imported.created_unix_ns);
  const CampaignId campaign = database.getLastInsertRowid();
  insert_parameters(database, campaign, record.parameters);
  return campaign;
}

/// Numbers and configurations (by row) that are there.
struct KnownTrials {
  std::set<std::int64_t> numbers, configurations;
};

KnownTrials known_trials(const Database& database, CampaignId campaign) {
  KnownTrials known;
  Statement rows = query(database, "SELECT number, configuration_id FROM trials WHERE campaign_id = ?1", campaign);
  while (rows.executeStep()) {
    std::int64_t number = 0, configuration = 0;
    Reader(rows).into(number, configuration);
    known.numbers.insert(number);
    known.configurations.insert(configuration);
  }
  return known;
}

void insert_trial(Database& database, CampaignId campaign, const AskAnswer& asked, std::int64_t configuration,
                  const space::Trial& trial, std::int64_t finished_unix_ns) {
  append_ask(database, campaign, {.strategy = kImportAsk, .seed = 0, .count = 1, .answer = {asked}});
  const TrialResult result{
      .outcome = trial.outcome, .reason = trial.reason, .estimate = trial.estimate, .parts = trial.parts};
  check_result(result);
  execute(database,
          "INSERT INTO trials (campaign_id, number, configuration_id, fidelity_steps, trial_key, state,"
          " reserved_unix_ns) VALUES (?1, ?2, ?3, ?4, ?5, 'reserved', ?6)",
          campaign, asked.number, configuration, trial.fidelity.steps, "imported:" + trial.configuration.identity(),
          finished_unix_ns);
  const TrialId id = database.getLastInsertRowid();
  write_result(database, id, result);
  execute(database, "UPDATE trials SET finished_unix_ns = ?2 WHERE id = ?1", id, finished_unix_ns);
  append_tell(database, campaign, id, result);
}

}  // namespace

ImportCount Store::import_campaign(const ImportedCampaign& imported) {
  return connection_->write([&](Database& database) -> ImportCount {
    const auto known_campaign = find_equal(database, imported.record);
    const CampaignId campaign = known_campaign ? *known_campaign : insert_imported(database, imported);
    if (known_campaign) {  // values of a list may have come to it
      execute(database, "DELETE FROM parameters WHERE campaign_id = ?1", campaign);
      insert_parameters(database, campaign, imported.record.parameters);
    }
    KnownTrials known = known_trials(database, campaign);
    std::map<std::int64_t, AskAnswer> asked;
    for (const AskAnswer& each : imported.asked) asked.emplace(each.number, each);
    ImportCount count;
    for (const space::Trial& trial : imported.trials) {
      const std::int64_t configuration = save_configuration(database, trial.configuration);
      if (known.configurations.contains(configuration)) {
        ++count.known;
        continue;
      }
      const auto found = asked.find(trial.number);
      AskAnswer answer = found != asked.end() ? found->second : AskAnswer{.number = trial.number};
      answer.configuration = trial.configuration;
      if (known.numbers.contains(answer.number)) answer.number = *known.numbers.rbegin() + 1;
      insert_trial(database, campaign, answer, configuration, trial, imported.finished_unix_ns);
      known.numbers.insert(answer.number);
      known.configurations.insert(configuration);
      ++count.added;
    }
    execute(database, "UPDATE campaigns SET finished_unix_ns = ?2 WHERE id = ?1", campaign, imported.finished_unix_ns);
    return count;
  });
}

}  // namespace nocturne::db
