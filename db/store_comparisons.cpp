#include <fmt/format.h>

#include <algorithm>

#include "db/connection.hpp"
#include "db/leases.hpp"
#include "db/rows.hpp"
#include "db/run_rows.hpp"
#include "db/store.hpp"

namespace nocturne::db {
namespace {

std::string_view to_text(Side side) {
  return side == Side::Candidate ? "candidate" : "baseline";
}
Side side_from_text(std::string_view text) {
  return text == "candidate" ? Side::Candidate : Side::Baseline;
}

void require_owner_of(const Connection& connection, ComparisonId comparison) {
  const auto campaign =
      first_value<std::int64_t>(connection.database(), "SELECT campaign_id FROM comparisons WHERE id = ?1", comparison);
  if (!campaign) throw Error(ErrorCode::NotFound, fmt::format("there is no comparison with id {}", comparison));
  return require_owner(connection, *campaign);
}

void read_pairs(const Database& database, StoredComparison& comparison) {
  Statement rows = query(database,
                         "SELECT pair, first_side, c.run_id, b.run_id, coalesce(c.fingerprint_hash, '')"
                         " FROM pairs"
                         " JOIN runs c ON c.id = candidate_run JOIN runs b ON b.id = baseline_run"
                         " WHERE comparison_id = ?1 ORDER BY pair",
                         comparison.id);
  while (rows.executeStep()) {
    StoredPair& pair = comparison.pairs.emplace_back();
    std::string first;
    Reader(rows).into(pair.index, first, pair.candidate_run, pair.baseline_run, pair.fingerprint);
    pair.first = side_from_text(first);
  }
}

void read_verdicts(const Database& database, StoredComparison& comparison) {
  Statement rows = query(database,
                         "SELECT comparison_id, horizon_epochs, is_primary, verdict, log_ratio_mean,"
                         " log_ratio_low, log_ratio_high, confidence, pairs, decided_unix_ns FROM verdicts"
                         " WHERE comparison_id = ?1 ORDER BY horizon_epochs",
                         comparison.id);
  while (rows.executeStep()) {
    VerdictRecord& v = comparison.verdicts.emplace_back();
    std::int64_t decided_unix_ns = 0;
    Reader(rows).into(v.comparison, v.horizon_epochs, v.primary, v.verdict, v.log_ratio_mean, v.log_ratio_low,
                      v.log_ratio_high, v.confidence, v.pairs, decided_unix_ns);
    comparison.judged_unix_ns = std::max(comparison.judged_unix_ns, decided_unix_ns);
  }
}

}  // namespace

ComparisonId Store::begin_comparison(const ComparisonRecord& record) {
  return connection_->write([&](Database& database) -> ComparisonId {
    require_owner(*connection_, record.campaign);
    const std::int64_t candidate = save_configuration(database, record.candidate);
    const std::int64_t baseline = save_configuration(database, record.baseline);
    execute(database,
            "INSERT INTO comparisons (campaign_id, candidate_configuration_id, baseline_configuration_id, role,"
            " started_unix_ns, method, estimator) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            record.campaign, candidate, baseline, record.role, now_unix_ns(), record.method, record.estimator);
    return database.getLastInsertRowid();
  });
}

void Store::set_method(ComparisonId comparison, const std::string& method, const std::string& estimator) {
  connection_->write([&](Database& database) {
    require_owner_of(*connection_, comparison);
    execute(database, "UPDATE comparisons SET method = ?2, estimator = ?3 WHERE id = ?1", comparison, method,
            estimator);
  });
}

void Store::add_pair(ComparisonId comparison, const PairRecord& pair) {
  connection_->write([&](Database& database) {
    require_owner_of(*connection_, comparison);
    const auto candidate = save_run(database, pair.candidate_trial, pair.candidate, false);
    const auto baseline = save_run(database, pair.baseline_trial, pair.baseline, false);
    execute(database,
            "INSERT INTO pairs (comparison_id, pair, first_side, candidate_run, baseline_run)"
            " VALUES (?1, ?2, ?3, ?4, ?5)",
            comparison, pair.index, to_text(pair.first), candidate, baseline);
    Statement insert = query(database,
                             "INSERT INTO slices (comparison_id, pair, position, side, first_step, steps, wall_ns)"
                             " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)");
    std::int64_t position = 0;
    for (const Slice& slice : pair.slices) {
      execute(insert, comparison, pair.index, position++, to_text(slice.side), slice.first_step, slice.steps,
              slice.wall_ns);
    }
  });
}

void Store::save_verdict(const VerdictRecord& verdict) {
  connection_->write([&](Database& database) {
    require_owner_of(*connection_, verdict.comparison);
    execute(database,
            "INSERT OR REPLACE INTO verdicts (comparison_id, horizon_epochs, is_primary, verdict, log_ratio_mean,"
            " log_ratio_low, log_ratio_high, confidence, pairs, decided_unix_ns)"
            " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            verdict.comparison, verdict.horizon_epochs, verdict.primary, verdict.verdict, verdict.log_ratio_mean,
            verdict.log_ratio_low, verdict.log_ratio_high, verdict.confidence, verdict.pairs, now_unix_ns());
  });
}

std::vector<StoredComparison> Store::comparisons(CampaignId campaign) const {
  return connection_->read([&](const Database& database) -> std::vector<StoredComparison> {
    Statement rows = query(database,
                           "SELECT comparisons.id, campaign_id, c.canonical_json, b.canonical_json, role,"
                           " started_unix_ns, method, estimator FROM comparisons"
                           " JOIN configurations c ON c.id = candidate_configuration_id"
                           " JOIN configurations b ON b.id = baseline_configuration_id"
                           " WHERE campaign_id = ?1 ORDER BY comparisons.id",
                           campaign);
    std::vector<StoredComparison> found;
    while (rows.executeStep()) {
      StoredComparison& comparison = found.emplace_back();
      std::string candidate;
      std::string baseline;
      Reader(rows).into(comparison.id, comparison.record.campaign, candidate, baseline, comparison.record.role,
                        comparison.started_unix_ns, comparison.record.method, comparison.record.estimator);
      comparison.record.candidate = parse_configuration(candidate);
      comparison.record.baseline = parse_configuration(baseline);
      read_pairs(database, comparison);
      read_verdicts(database, comparison);
    }
    return found;
  });
}

std::vector<Slice> Store::slices(ComparisonId comparison, std::int64_t pair) const {
  return connection_->read([&](const Database& database) -> std::vector<Slice> {
    Statement rows = query(database,
                           "SELECT side, first_step, steps, wall_ns FROM slices"
                           " WHERE comparison_id = ?1 AND pair = ?2 ORDER BY position",
                           comparison, pair);
    std::vector<Slice> found;
    while (rows.executeStep()) {
      Slice& slice = found.emplace_back();
      std::string side;
      Reader(rows).into(side, slice.first_step, slice.steps, slice.wall_ns);
      slice.side = side_from_text(side);
    }
    return found;
  });
}

}  // namespace nocturne::db
