#include "tuner/campaign/finals/named_trials.hpp"

#include <algorithm>
#include <utility>

#include "tuner/campaign/history.hpp"
#include "tuner/campaign/machine_changes.hpp"
#include "tuner/campaign/resume.hpp"
#include "tuner/campaign/trial_runner.hpp"
#include "tuner/campaign_file/trial_schedule.hpp"

namespace nocturne::tuner {
namespace {

/// Asks that are the user's, not the strategy's.
constexpr const char* kNamedAsk = "user";
constexpr const char* kNamedDefaultAsk = "default";

}  // namespace

db::CampaignRecord NamedTrials::record(bool fresh) {
  const CampaignSpec& spec = session_.spec;
  db::CampaignRecord record = present_record(session_, fresh);
  record.history = std::vector<db::HistorySource>();
  bool unverified = false;
  if (!record.fresh) {
    const auto recheck = recheck_after_changes(session_);
    if (recheck.end != Recheck::End::Nothing) session_.observer.note(recheck.sentence);
    record.fresh = recheck.end == Recheck::End::SetAside;
    unverified = recheck.end == Recheck::End::Interrupted;
  }
  const auto all = session_.store.list_campaigns();
  const db::CampaignSummary* before = nullptr;
  for (const db::CampaignSummary& each : all) {
    if (record.fresh || each.name != record.name || each.identity != record.identity) continue;
    if (before == nullptr || each.generation > before->generation) before = &each;
  }
  if (before != nullptr) {
    record.spec = before->spec;
    record.strategy = before->strategy;
    record.seed = before->seed;
    was_finished_ = before->finished_unix_ns.has_value();
    if (unverified)  // the next one who comes verifies
      record.fingerprint = session_.store.load_fingerprint(before->fingerprint);
  } else if (spec.strategy.history && !fresh) {
    record.history = choose_history(
        session_.store, {.document = spec.document, .fingerprint_key = session_.fingerprint.key()}, spec.space);
  }
  return record;
}

void NamedTrials::open(bool fresh) {
  const auto begun = record(fresh);
  session_.store.save_fingerprint(begun.fingerprint);
  const auto handle = session_.store.begin_or_resume_campaign(begun);
  session_.campaign = handle.id;
  next_number_ = handle.trials;
  finished_ = handle.finished;
  recovered_ = session_.store.recover_interrupted(handle.id).trials;
  session_.observer.opened({.id = handle.id,
                            .campaign = begun.name,
                            .generation = handle.generation,
                            .resumed = handle.resumed,
                            .trials_known = handle.finished,
                            .recovery = {},
                            .strategy = begun.strategy,
                            .seed = static_cast<std::uint64_t>(begun.seed),
                            .epochs = session_.spec.objective.primary,
                            .times_processes = is_timed_whole(session_.spec.worker)});
  if (next_number_ == 0) static_cast<void>(trial_of(session_.spec.space.default_configuration()));
}

void NamedTrials::close() {
  if (was_finished_)  // opening it took that mark away
    session_.store.finish_campaign(session_.campaign);
  session_.store.release_campaign(session_.campaign);
}

std::optional<db::StoredTrial> NamedTrials::known(const space::Configuration& configuration) const {
  auto trials = session_.store.list_trials(
      {.campaign = session_.campaign, .state = db::TrialState::Finished, .configuration = configuration.identity()});
  std::optional<db::StoredTrial> found;
  for (db::StoredTrial& each : trials)
    if (!found || found->trial.outcome != space::Outcome::Ok) found = std::move(each);
  return found;
}

bool NamedTrials::fails_as_before(const db::StoredTrial& before) const {
  if (before.runs > 0) return false;
  const auto prepared = session_.prepare(before.trial.configuration);
  return !prepared && before.trial.reason.starts_with(prepared.error().reason);
}

std::optional<db::StoredTrial> NamedTrials::measure(const space::Configuration& configuration) {
  const auto again = std::ranges::find_if(
      recovered_, [&](const db::StoredTrial& each) { return each.trial.configuration == configuration; });
  std::int64_t number = next_number_;
  if (again != recovered_.end()) {
    number = again->trial.number;
    recovered_.erase(again);
  } else {
    const db::Ask ask{.strategy = number == 0 ? kNamedDefaultAsk : kNamedAsk,
                      .seed = 0,
                      .count = 1,
                      .answer = {{.number = next_number_++,
                                  .configuration = configuration,
                                  .reason = number == 0 ? "" : "the user compares it"}}};
    session_.store.record_ask(session_.campaign, ask);
  }
  const auto answer = run_here(session_, {.number = number, .configuration = configuration});
  if (answer.end != OrderEnd::Finished) return std::nullopt;
  store_answer(session_, answer);
  ++finished_;
  session_.observer.finished(answer.trial, answer.equal_to.has_value(), {.finished = finished_});
  return session_.store.load_numbered_trial(session_.campaign, number);
}

std::optional<db::StoredTrial> NamedTrials::trial_of(const space::Configuration& configuration) {
  auto before = known(configuration);
  if (session_.interruption.requested()) return before;
  if (!before) return measure(configuration);
  const space::Outcome outcome = before->trial.outcome;
  // What the worker refuses it refuses again, and what trains wrongly does so again. The rest may be gone by now: an
  // environment was installed, a deadline was lengthened.
  const bool stands = outcome == space::Outcome::Ok || outcome == space::Outcome::Wrong ||
                      (outcome == space::Outcome::Unsupported && before->runs > 0);
  if (stands || fails_as_before(*before)) return before;
  return measure(configuration);
}

}  // namespace nocturne::tuner
