#include "tuner/campaign/trial_runner.hpp"

#include <chrono>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "tuner/campaign/finals/comparing.hpp"
#include "tuner/campaign/finals/stored_pairs.hpp"
#include "tuner/campaign/machine_changes.hpp"
#include "tuner/campaign/unix_time.hpp"

namespace nocturne::tuner {
namespace {

/// Failures that another session may well repeat differently: longer deadline, more memory, another compiler's mood.
bool stands(const db::StoredTrial& known) {
  return known.trial.outcome == space::Outcome::Ok || known.trial.outcome == space::Outcome::Unsupported;
}

/// Keeps the runs of one trial in the database as they end.
class StoreKeeper final : public TrialKeeper {
 public:
  StoreKeeper(const Session& session, const TrialReference* reference) : session_(session), reference_(reference) {}

  void built(const db::BuildRecord& build) override { session_.store.save_build(build); }
  std::optional<std::vector<space::Run>> begin(const db::TrialReservation& trial, space::Purpose purpose) override;
  std::vector<double> ratios_of_before(const TrialReference& reference, const measure::Schedule& of_reference,
                                       const measure::Schedule& of_trial) override;
  void begin_run(const measure::RunPlan& plan) override;
  void keep(const db::RunRecord& run) override { session_.store.add_run(*reserved, run); }
  void keep_pair(const TrialReference& reference, const db::PairRecord& pair) override;

  std::optional<db::TrialId> reserved{};      ///< empty: nothing was begun
  std::optional<db::StoredTrial> equal_to{};  ///< an equal trial that stands

 private:
  /// The latest equal trial whose result stands and was measured under the present state of this machine; empty: none.
  /// One that was set aside for the machine is told.
  [[nodiscard]] std::optional<db::StoredTrial> equal_trial(const std::string& key) const;
  [[nodiscard]] bool unchanged(const db::StoredTrial& known) const;
  /// Good runs that an earlier session, which was ended in the middle of this trial, has stored; by seed.
  [[nodiscard]] std::vector<space::Run> runs_of_before(space::Purpose purpose) const;

  const Session& session_;
  const TrialReference* reference_;  // null: runs are alone
  space::Configuration configuration_;
  std::optional<db::StoredComparison> comparison_;  // of runs that take turns; empty: none is known
};

bool StoreKeeper::unchanged(const db::StoredTrial& known) const {
  const auto changed = changes_since(session_.store, known.id, session_.fingerprint);
  if (changed.empty()) return true;
  session_.observer.note(fmt::format("trial {} of '{}' is set aside and measured again: {}", known.trial.number,
                                     known.campaign_name, changed));
  return false;
}

std::optional<db::StoredTrial> StoreKeeper::equal_trial(const std::string& key) const {
  auto known = session_.store.find_equal_trial(session_.campaign, key);
  if (known && !(stands(*known) && unchanged(*known))) known.reset();
  return known;
}

std::optional<std::vector<space::Run>> StoreKeeper::begin(const db::TrialReservation& trial, space::Purpose purpose) {
  // What was measured beside a reference of another campaign is known by the level of that one.
  if (reference_ == nullptr) equal_to = equal_trial(trial.key);
  if (equal_to) return std::nullopt;
  configuration_ = trial.configuration;
  const auto before = session_.store.find_trial(session_.campaign, trial.number);
  const bool goes_on = before && before->key == trial.key;
  reserved = session_.store.reserve_trial(session_.campaign, trial);
  return goes_on ? runs_of_before(purpose) : std::vector<space::Run>();
}

std::vector<double> StoreKeeper::ratios_of_before(const TrialReference& reference,
                                                  const measure::Schedule& of_reference,
                                                  const measure::Schedule& of_trial) {
  comparison_ =
      find_comparison(session_.store, session_.campaign, kSearchRole, reference.configuration, configuration_);
  std::vector<double> ratios;
  if (!comparison_) return ratios;
  for (const measure::PairParts& pair : stored_pairs(session_.store, *comparison_, of_reference, of_trial).pairs)
    ratios.push_back(std::log(pair.baseline.steady_step / pair.candidate.steady_step));
  return ratios;
}

void StoreKeeper::keep_pair(const TrialReference& reference, const db::PairRecord& pair) {
  if (!comparison_) {
    const db::ComparisonRecord record{.campaign = session_.campaign,
                                      .candidate = configuration_,
                                      .baseline = reference.configuration,
                                      .role = kSearchRole};
    comparison_ = db::StoredComparison{.id = session_.store.begin_comparison(record), .record = record};
  }
  db::PairRecord kept = pair;
  kept.index = std::ssize(comparison_->pairs);
  kept.candidate_trial = *reserved;
  kept.baseline_trial = session_.store.load_numbered_trial(session_.campaign, 0).id;
  session_.store.add_pair(comparison_->id, kept);
  comparison_->pairs.push_back({.index = kept.index});
}

void StoreKeeper::begin_run(const measure::RunPlan& plan) {
  db::RunRecord record;
  record.run.id = plan.id;
  record.run.purpose = plan.purpose;
  record.run.folder = plan.folder.string();
  record.run.artifact = plan.artifact;
  record.run.seed = static_cast<std::int64_t>(plan.request.seed);
  record.run.started_unix_ns = unix_ns_of(session_.clock.wall());
  record.fingerprint = session_.fingerprint.identity();
  session_.store.begin_run(*reserved, record);
}

std::vector<space::Run> StoreKeeper::runs_of_before(space::Purpose purpose) const {
  const auto stored = session_.store.load_trial(*reserved);
  std::vector<space::Run> runs;
  for (const db::StoredRun& each : stored.runs) {
    const space::Run& run = each.record.run;
    const auto seed = static_cast<std::int64_t>(session_.spec.run.seed + runs.size());
    if (!each.in_flight && run.outcome == space::Outcome::Ok && run.purpose == purpose && run.seed == seed &&
        each.record.fingerprint == session_.fingerprint.identity()) {
      runs.push_back(run);
    }
  }
  return runs;
}

/// Within a transaction.
void write_answer(const Session& session, const TrialAnswer& answer, std::chrono::nanoseconds took) {
  keep_machine(session, answer.machine, answer.builds);
  if (answer.equal_to) {
    session.store.reuse_trial(session.campaign, answer.reservation, *answer.equal_to);
    return;
  }
  auto reservation = answer.reservation;
  if (!answer.node.empty()) {
    const auto given = (session.clock.wall() - took).time_since_epoch();
    reservation.reserved_unix_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(given).count();
  }
  const auto trial = answer.reserved ? *answer.reserved : session.store.reserve_trial(session.campaign, reservation);
  db::TrialResult result = db::result_of(answer.trial);
  // The compiler's own words: the only thing that helps, so they are kept with the outcome.
  if (!answer.log_tail.empty()) result.reason += "\n" + answer.log_tail;
  session.store.finish_trial(trial, result, answer.runs);
}

}  // namespace

void keep_machine(const Session& session, const std::optional<space::Fingerprint>& machine,
                  std::span<const db::BuildRecord> builds) {
  if (!machine) return;
  // Each answer names it, and a node gives hundreds: reading is cheaper than writing.
  const std::string hash = machine->identity();
  if (!session.store.find_fingerprint(hash))
    session.store.save_fingerprint({.hash = hash, .fields = machine->to_json()});
  for (const db::BuildRecord& build : builds) session.store.save_build(build);
}

TrialAnswer run_here(const Session& session, const TrialOrder& order, const TrialReference* reference) {
  StoreKeeper keeper(session, reference);
  TrialAnswer answer = carry_out(order, session.workplace(), keeper, reference);
  answer.reserved = keeper.reserved;
  if (!keeper.equal_to) return answer;
  answer.equal_to = keeper.equal_to->id;
  answer.trial = std::move(keeper.equal_to->trial);
  answer.trial.number = order.number;
  answer.trial.configuration = order.configuration;
  answer.trial.fidelity = answer.reservation.fidelity;
  return answer;
}

GateAnswer run_here(const Session& session, const GateOrder& order, const PreparedWorker& prepared, db::TrialId owner) {
  const auto keep = [&](const db::RunRecord& run) { session.store.add_run(owner, run); };
  auto answer = carry_out(order, prepared, session.workplace(), keep);
  if (!answer.run.run.id.empty()) keep(answer.run);  // else nothing was begun
  return answer;
}

TrialAnswer answer_of_preflight(const Session& session, std::int64_t number, const db::PreflightRecord& seen) {
  // A key of its own: whoever measures this configuration itself is not told that it is known.
  auto answer = begin_answer(number, seen.configuration, "tried in the preflight " + seen.reason, session.workplace());
  answer.trial.outcome = seen.outcome;
  answer.trial.reason = "in the preflight: " + seen.reason;
  answer.log_tail = seen.log_tail;
  return answer;
}

void store_answer(const Session& session, const TrialAnswer& answer, std::chrono::nanoseconds took) {
  session.store.write_together([&] { write_answer(session, answer, took); });
}

std::string host_of(const db::Store& store, const std::string& fingerprint) {
  const auto known = fingerprint.empty() ? std::nullopt : store.find_fingerprint(fingerprint);
  if (!known) return {};
  const auto read = space::Fingerprint::from_json(known->fields);
  const auto* host = read ? read->find("system.host") : nullptr;
  return host != nullptr ? host->value : std::string();
}

std::string node_of_default(const Session& session) {
  const auto trial = session.store.find_trial(session.campaign, 0);
  if (!trial) return {};
  for (const db::StoredRun& each : session.store.load_trial(trial->id).runs) {
    if (each.record.run.purpose != space::Purpose::Search) continue;
    if (auto host = host_of(session.store, each.record.fingerprint); !host.empty()) return host;
  }
  return {};
}

void store_defaults(const Session& session, std::span<const DefaultOnNode> measured) {
  if (measured.empty()) return;
  session.store.write_together([&] {
    const auto trial = session.store.load_numbered_trial(session.campaign, 0).id;
    for (const DefaultOnNode& each : measured) {
      keep_machine(session, each.answer.machine, each.answer.builds);
      for (const db::RunRecord& run : each.answer.runs) session.store.add_run(trial, run);
    }
  });
}

}  // namespace nocturne::tuner
