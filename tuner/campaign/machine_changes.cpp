#include "tuner/campaign/machine_changes.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "measure/comparison/statistics.hpp"
#include "tuner/executor/machine_difference.hpp"

namespace nocturne::tuner {
namespace {

constexpr int kRecheckRuns = 3;
constexpr double kRecheckSurely = 2.576;  // 99 %, two-sided: what holds is not thrown away by chance

using ChangedFields = std::vector<space::FingerprintDifference>;

/// Empty optional: no earlier session.
std::optional<ChangedFields> differences_since(const db::Store& store, const std::string& campaign,
                                               const space::Fingerprint& now) {
  const auto known = store.find_campaign(campaign);
  if (!known) return std::nullopt;
  const auto stored = store.load_fingerprint(known->fingerprint);
  const auto before = space::Fingerprint::from_json(stored.fields);
  if (!before) return std::nullopt;
  return before->differences(now);
}

/// The default, once more. Empty: it trains no more. Killed is kept.
std::vector<space::Run> default_again(const Session& session, const PreparedWorker& prepared) {
  std::vector<space::Run> runs;
  const auto slot = session.take_slot();
  if (!slot) return runs;
  while (std::ssize(runs) < kRecheckRuns) {
    const RunOrder order{.purpose = space::Purpose::Verify,
                         .steps = session.spec.run.steps,
                         .seed = session.spec.run.seed + runs.size()};
    const auto plan = [&] {
      return session.executor.plan(session.spec.space.default_configuration(), prepared, order);
    };
    auto run = session.run(plan, [](const space::Run&) {});
    const bool ok = run.outcome == space::Outcome::Ok;
    runs.push_back(std::move(run));
    if (!ok) break;
  }
  return runs;
}

}  // namespace

std::string machine_changes(const db::Store& store, const std::string& campaign, const space::Fingerprint& now) {
  const auto differences = differences_since(store, campaign, now);
  return differences ? change_words(*differences, space::Match::Must) : std::string();
}

std::string changes_to_verify(const db::Store& store, const std::string& campaign, const space::Fingerprint& now) {
  const auto differences = differences_since(store, campaign, now);
  if (!differences || !change_words(*differences, space::Match::Must).empty()) return std::string();
  return change_words(*differences, space::Match::Verify);
}

std::string changes_since(const db::Store& store, db::TrialId trial, const space::Fingerprint& now) {
  const auto detail = store.load_trial(trial);
  std::set<std::string> hashes;
  for (const db::StoredRun& run : detail.runs)
    if (!run.record.fingerprint.empty()) hashes.insert(run.record.fingerprint);
  hashes.erase(now.identity());
  for (const std::string& hash : hashes) {
    const auto stored = store.load_fingerprint(hash);
    const auto before = space::Fingerprint::from_json(stored.fields);
    if (!before) continue;
    if (std::string words = change_words(before->differences(now)); !words.empty()) return words;
  }
  return std::string();
}

Recheck recheck_after_changes(const Session& session) {
  const auto changed = changes_to_verify(session.store, session.spec.name, session.fingerprint);
  if (changed.empty()) return Recheck{};
  const auto known = session.store.load_campaign(session.spec.name);
  if (known.identity != session.spec.identity()) return Recheck{};  // a new generation begins anyway
  if (known.owner_pid) return Recheck{};                            // who opens it now is refused
  const auto before = session.store.find_trial(known.id, 0);
  if (!before || !before->trial.estimate) return Recheck{};

  const auto set_aside = [&](const std::string& why) {
    return Recheck{
        .end = Recheck::End::SetAside,
        .sentence = fmt::format("{}: {}: results from before are set aside, a new generation begins", changed, why)};
  };
  Recheck interrupted{.end = Recheck::End::Interrupted,
                      .sentence = fmt::format("{}: interrupted before that was verified", changed)};
  session.observer.note(
      fmt::format("{}: the default is measured again, to see whether results from before hold", changed));
  const auto prepared = session.prepare(session.spec.space.default_configuration());
  if (!prepared && prepared.error().outcome == space::Outcome::Killed) return interrupted;
  if (!prepared) return set_aside("the default cannot be prepared any more: " + prepared.error().reason);
  auto suspensions = session.interruption.suspensions();
  auto runs = default_again(session, *prepared);
  while ((runs.empty() || runs.back().outcome == space::Outcome::Killed) &&
         session.interruption.again_after_suspension(suspensions)) {
    suspensions = session.interruption.suspensions();
    runs = default_again(session, *prepared);
  }
  if (runs.empty() || runs.back().outcome == space::Outcome::Killed) return interrupted;
  if (runs.back().outcome != space::Outcome::Ok) {
    return set_aside(fmt::format("the default does not train any more: {}: {}", space::to_text(runs.back().outcome),
                                 runs.back().reason));
  }
  const auto now = measure::summarise(runs, prepared->schedule, session.spec.objective);
  if (!now) return set_aside("the default cannot be judged: " + now.error());

  const space::Estimate& then = *before->trial.estimate;
  const double slower = std::log(now->estimate.value / then.value);
  const double process_sd =
      session.spec.run.process_sd * std::sqrt(1.0 / std::max(1, then.runs) + 1.0 / std::max(1, now->estimate.runs));
  const double explained = kRecheckSurely * process_sd + std::log1p(session.spec.verify.margin_percent / 100);
  const std::string figures =
      fmt::format("the default takes {:+.1f} % (between-process spread and margin explain {:.1f} %)",
                  100 * std::expm1(slower), 100 * std::expm1(explained));
  if (std::abs(slower) > explained) return set_aside(figures);
  return Recheck{.end = Recheck::End::Holds,
                 .sentence = fmt::format("{}: {}: results from before are kept", changed, figures)};
}

}  // namespace nocturne::tuner
