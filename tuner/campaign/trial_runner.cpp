#include "tuner/campaign/trial_runner.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "measure/comparison/disturbance.hpp"
#include "measure/comparison/stopping.hpp"
#include "space/digest.hpp"
#include "tuner/campaign/machine_changes.hpp"

namespace nocturne::tuner {
namespace {

db::RunRecord begun(const measure::RunPlan& plan, const Session& session) {
  db::RunRecord record;
  record.run.id = plan.id;
  record.run.purpose = plan.purpose;
  record.run.folder = plan.folder.string();
  record.run.artifact = plan.artifact;
  record.run.seed = static_cast<std::int64_t>(plan.request.seed);
  record.run.started_unix_ns =
      std::chrono::duration_cast<std::chrono::nanoseconds>(session.clock.wall().time_since_epoch()).count();
  record.fingerprint = session.fingerprint.identity();
  return record;
}

/// What an answer says of its trial before there is a result. `worker`: identity of what was started.
void begin_answer(const Session& session, const space::Configuration& configuration, const std::string& worker,
                  TrialAnswer& answer) {
  answer.trial.number = answer.number;
  answer.trial.configuration = configuration;
  answer.trial.fidelity = trial_fidelity(session.spec, configuration);
  answer.reservation = {.number = answer.number,
                        .configuration = configuration,
                        .fidelity = answer.trial.fidelity,
                        .key = trial_key(session.spec, configuration, answer.trial.fidelity, worker,
                                         session.fingerprint.key(), session.images)};
}

/// Runs beyond its repeats that a trial may have, so that one is not held back.
constexpr std::size_t kMostBeyond = 1;

/// Failures that another session may well repeat differently: longer deadline, more memory, another compiler's mood.
bool stands(const db::StoredTrial& known) {
  return known.trial.outcome == space::Outcome::Ok || known.trial.outcome == space::Outcome::Unsupported;
}

std::int64_t batch_of(const space::Configuration& configuration) {
  const auto* value = configuration.find("batch");
  const auto* batch = value != nullptr ? std::get_if<std::int64_t>(value) : nullptr;
  return batch != nullptr ? *batch : 0;
}

}  // namespace

space::Fidelity trial_fidelity(const CampaignSpec& spec, const space::Configuration& configuration) {
  const std::int64_t all = spec.run.steps;
  if (!spec.worker.own.levers.contains("batch")) return {.steps = all};
  const std::int64_t usual = batch_of(spec.space.default_configuration()), batch = batch_of(configuration);
  if (usual <= 0 || batch <= usual) return {.steps = all};
  return {.steps = std::clamp(all * usual / batch, std::min(kFewestTimedSteps, all), all)};
}

std::string trial_key(const CampaignSpec& spec, const space::Configuration& configuration,
                      const space::Fidelity& fidelity, const std::string& worker, const std::string& fingerprint_key,
                      const std::string& images) {
  nlohmann::json parts = {
      {"workload", space::to_json(spec.workload)},
      {"configuration", configuration.to_json()},
      {"fidelity", {{"steps", fidelity.steps}, {"steps_per_sample", spec.run.steps_per_sample}}},
      {"objective", {{"minimise", spec.objective.minimise}, {"primary", spec.objective.primary}}},
      {"repeats", spec.run.repeats},
      {"worker", worker},
      {"fingerprint", fingerprint_key},
  };
  if (!images.empty()) parts["images"] = images;
  // If it could not be prepared, the reason is part of the key: a compiler's or an installer's words, in any bytes.
  return space::short_digest(parts.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

bool TrialRunner::unchanged(const db::StoredTrial& known) const {
  const auto changed = changes_since(session_.store, known.id, session_.fingerprint);
  if (changed.empty()) return true;
  session_.observer.note(fmt::format("trial {} of '{}' is set aside and measured again: {}", known.trial.number,
                                     known.campaign_name, changed));
  return false;
}

std::optional<db::StoredTrial> TrialRunner::equal_trial(const std::string& key) const {
  auto known = session_.store.find_equal_trial(session_.campaign, key);
  if (known && !(stands(*known) && unchanged(*known))) known.reset();
  return known;
}

TrialAnswer TrialRunner::execute(const TrialOrder& order) {
  TrialAnswer answer{.number = order.number, .end = TrialAnswer::End::Interrupted};
  const auto slot = session_.take_slot();
  if (!slot) return answer;

  session_.observer.preparing(order.number, order.configuration);
  const auto prepared = session_.executor.prepare(order.configuration, session_.interruption.token());
  if (!prepared && prepared.error().outcome == space::Outcome::Killed) return answer;
  if (!prepared) {
    if (auto no_room = no_room_for(prepared.error())) throw *std::move(no_room);
  }
  if (prepared && prepared->build) session_.store.save_build(*prepared->build);
  begin_answer(session_, order.configuration, prepared ? prepared->worker : "unprepared " + prepared.error().reason,
               answer);
  if (!prepared) {
    answer.end = TrialAnswer::End::Finished;
    answer.trial.outcome = prepared.error().outcome;
    answer.trial.reason = prepared.error().reason;
    answer.log_tail = prepared.error().log_tail;
    return answer;
  }

  const auto known = equal_trial(answer.reservation.key);
  if (known) {
    answer.end = TrialAnswer::End::Finished;
    answer.equal_to = known->id;
    answer.trial = known->trial;
    answer.trial.number = order.number;
    answer.trial.configuration = order.configuration;
    answer.trial.fidelity = answer.reservation.fidelity;
    return answer;
  }

  const auto before = session_.store.find_trial(session_.campaign, order.number);
  const bool goes_on = before && before->key == answer.reservation.key;
  const auto trial = session_.store.reserve_trial(session_.campaign, answer.reservation);
  answer.reserved = trial;
  session_.observer.prepared(order.number, prepared->built_now ? prepared->build_time : std::chrono::nanoseconds{0});
  auto runs = goes_on ? runs_of_before(trial, order.purpose) : std::vector<space::Run>();
  return measure(order, *prepared, std::move(runs), std::move(answer));
}

std::optional<FinishedTrial> TrialRunner::run(const TrialOrder& order) {
  auto answer = execute(order);
  if (answer.end != TrialAnswer::End::Finished) return std::nullopt;
  store_answer(session_, answer);
  return FinishedTrial{.trial = std::move(answer.trial), .reused = answer.equal_to.has_value()};
}

TrialAnswer answer_of_preflight(const Session& session, std::int64_t number, const db::PreflightRecord& seen) {
  TrialAnswer answer{.number = number};
  // A key of its own: whoever measures this configuration itself is not told that it is known.
  begin_answer(session, seen.configuration, "tried in the preflight " + seen.reason, answer);
  answer.trial.outcome = seen.outcome;
  answer.trial.reason = "in the preflight: " + seen.reason;
  answer.log_tail = seen.log_tail;
  return answer;
}

void store_answer(const Session& session, const TrialAnswer& answer) {
  if (answer.equal_to) {
    session.store.reuse_trial(session.campaign, answer.reservation, *answer.equal_to);
    return;
  }
  const auto trial =
      answer.reserved ? *answer.reserved : session.store.reserve_trial(session.campaign, answer.reservation);
  db::TrialResult result{.outcome = answer.trial.outcome,
                         .reason = answer.trial.reason,
                         .estimate = answer.trial.estimate,
                         .parts = answer.trial.parts};
  // The compiler's own words: the only thing that helps, so they are kept with the outcome.
  if (!answer.log_tail.empty()) result.reason += "\n" + answer.log_tail;
  session.store.finish_trial(trial, result, answer.runs);
}

std::vector<space::Run> TrialRunner::runs_of_before(db::TrialId trial, space::Purpose purpose) const {
  const auto stored = session_.store.load_trial(trial);
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

bool TrialRunner::judge(const std::vector<space::Run>& runs, const Prepared& prepared,
                        const std::optional<space::Estimate>& incumbent, space::Trial& record) const {
  const RunSettings& settings = session_.spec.run;
  record.outcome = runs.back().outcome;
  record.reason = runs.back().reason;
  record.estimate.reset();
  record.parts.reset();
  bool held_back = false;
  if (record.outcome == space::Outcome::Ok) {
    const auto summary = measure::summarise(runs, prepared.schedule, session_.spec.objective);
    if (summary) {
      record.estimate = summary->estimate;
      record.parts = summary->parts;
      held_back = summary->held_back;
    } else {
      record.outcome = space::Outcome::ProtocolError;
      record.reason = summary.error();
    }
  }
  bool another =
      held_back || measure::needs_another_run(record.outcome, record.estimate, incumbent,
                                              {.repeats = settings.repeats, .process_sd = settings.process_sd})
                       .another_run;
  // A device may be hot for the whole night.
  if (runs.size() >= static_cast<std::size_t>(std::max(1, settings.repeats)) + kMostBeyond) another = false;
  return another;
}

TrialAnswer TrialRunner::measure(const TrialOrder& order, const Prepared& prepared, std::vector<space::Run> runs,
                                 TrialAnswer answer) {
  const RunSettings& settings = session_.spec.run;
  const db::TrialId trial = *answer.reserved;
  bool another = runs.empty() || judge(runs, prepared, order.incumbent, answer.trial);
  while (another) {
    // Each run of a trial has another seed: its between-process spread is then not the same twice.
    const RunOrder wanted{
        .purpose = order.purpose, .steps = settings.steps, .seed = settings.seed + runs.size(), .deadline = {}};
    db::RunRecord run;
    const auto plan = [&]() -> measure::RunPlan {
      measure::RunPlan planned = session_.executor.plan(order.configuration, prepared, wanted);
      run = begun(planned, session_);
      session_.store.begin_run(trial, run);
      session_.observer.running(order.number, order.configuration);
      return planned;
    };
    const auto keep_lost = [&](const space::Run& killed) {
      run.run = killed;
      session_.store.add_run(trial, run);
    };
    run.run = session_.run(plan, keep_lost);
    if (run.run.outcome == space::Outcome::Killed) {
      session_.store.add_run(trial, run);
      return answer;
    }
    runs.push_back(run.run);
    another = judge(runs, prepared, order.incumbent, answer.trial);
    if (const std::string reasons = measure::held_back(runs.back()); !reasons.empty()) {
      session_.observer.note(fmt::format("trial {}: the device was held back ({}){}", order.number, reasons,
                                         another ? ": it is measured again" : ""));
    }
    if (!another) {
      answer.runs.push_back(std::move(run));
    } else {
      session_.store.add_run(trial, run);  // before the next begins: a kill costs one run, not all
    }
  }
  answer.end = TrialAnswer::End::Finished;
  return answer;
}

}  // namespace nocturne::tuner
