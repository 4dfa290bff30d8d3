#include "db/connection.hpp"
#include "db/leases.hpp"
#include "db/rows.hpp"
#include "db/store.hpp"
#include "space/outcome.hpp"

namespace nocturne::db {

void Store::save_preflight(CampaignId campaign, const PreflightRecord& preflight) {
  if (preflight.outcome == space::Outcome::Killed)
    throw Error(ErrorCode::Inconsistent, "a preflight that was killed says nothing about its software stack");
  connection_->write([&](Database& database) {
    require_owner(*connection_, campaign);
    execute(database,
            "INSERT OR REPLACE INTO preflights (campaign_id, stack_json, configuration_json, outcome, reason,"
            " too_large_json, prepare_ns, train_ns, log_tail, preflight_unix_ns)"
            " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            campaign, preflight.stack.canonical(), preflight.configuration.canonical(), to_text(preflight.outcome),
            preflight.reason, json_text(nlohmann::json(preflight.too_large)), preflight.prepare, preflight.train,
            preflight.log_tail, preflight.preflight_unix_ns == 0 ? now_unix_ns() : preflight.preflight_unix_ns);
  });
}

std::vector<PreflightRecord> Store::preflights(CampaignId campaign) const {
  return connection_->read([&](const Database& database) -> std::vector<PreflightRecord> {
    Statement stacks = query(database,
                             "SELECT stack_json, configuration_json, outcome, reason, too_large_json, prepare_ns,"
                             " train_ns, log_tail, preflight_unix_ns FROM preflights WHERE campaign_id = ?1"
                             " ORDER BY preflight_unix_ns, stack_json",
                             campaign);
    std::vector<PreflightRecord> preflights;
    while (stacks.executeStep()) {
      PreflightRecord& r = preflights.emplace_back();
      std::string stack, configuration, outcome;
      nlohmann::json too_large;
      Reader(stacks).into(stack, configuration, outcome, r.reason, too_large, r.prepare, r.train, r.log_tail,
                          r.preflight_unix_ns);
      r.stack = parse_configuration(stack);
      r.configuration = parse_configuration(configuration);
      r.outcome = space::outcome_from_text(outcome).value();
      r.too_large = too_large.get<std::vector<std::int64_t>>();
    }
    return preflights;
  });
}

}  // namespace nocturne::db
