#include "tuner/executor/carry_out.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "measure/comparison/disturbance.hpp"
#include "measure/comparison/statistics.hpp"
#include "measure/comparison/stopping.hpp"
#include "measure/gate/gate.hpp"
#include "space/digest.hpp"
#include "tuner/executor/paired_run.hpp"

namespace nocturne::tuner {
namespace {

/// After so many batches of a software stack that were out of memory only its smallest is tried: whether it goes is the
/// question, how large its batch may be is the search's.
constexpr std::size_t kMostTooLarge = 2;

db::RunRecord record_of(space::Run run, const Workplace& place) {
  return {.run = std::move(run), .fingerprint = place.fingerprint.identity()};
}

/// The turns of a trial with the reference.
struct Turns {
  const TrialReference* reference = nullptr;  ///< null: it runs alone
  std::optional<PreparedWorker> prepared{};   ///< the reference; empty: it runs alone
  std::vector<double> log_ratios{};           ///< of its runs so far
};

/// Writes the result of its runs so far into the record; whether it wants another.
bool judge(const std::vector<space::Run>& runs, const PreparedWorker& prepared, const CampaignSpec& spec,
           const TrialOrder& order, const Turns& turns, space::Trial& record) {
  const RunSettings& settings = spec.run;
  record.outcome = runs.back().outcome;
  record.reason = runs.back().reason;
  // Judged anew from all runs: a later run that fails takes the estimate of those before it away.
  record.estimate.reset();
  record.parts.reset();
  bool disturbed = false;
  if (record.outcome == space::Outcome::Ok) {
    const auto summary = measure::summarise(runs, prepared.schedule, spec.objective);
    if (summary) {
      record.estimate = summary->estimate;
      record.parts = summary->parts;
      disturbed = summary->disturbed && turns.log_ratios.empty();
      if (!turns.log_ratios.empty())
        judge_by_ratios(turns.log_ratios, turns.reference->steady_step, spec.objective.primary, record);
    } else {
      record.outcome = space::Outcome::ProtocolError;
      record.reason = summary.error();
    }
  }
  const bool surprising = record.estimate && order.expected &&
                          measure::is_surprising(*record.estimate, order.expected->log_time, order.expected->log_sd);
  bool another =
      disturbed || surprising ||
      measure::needs_another_run(record.outcome, record.estimate, order.incumbent,
                                 {.repeats = settings.repeats,
                                  .process_sd = turns.log_ratios.empty() ? settings.process_sd : settings.pair_sd})
          .another_run;
  // A device may be hot, a neighbour busy for the whole night.
  if (runs.size() >= static_cast<std::size_t>(most_runs(settings))) another = false;
  return another;
}

/// What is known to have slowed the run, a clause; empty: nothing.
std::string slowed_by(const space::Run& run) {
  const std::string reasons = measure::held_back(run);
  return reasons.empty() ? measure::under_load(run) : fmt::format("the device was held back ({})", reasons);
}

/// One run of a trial. Killed: it was cut short.
db::RunRecord run_of_trial(const TrialOrder& order, const PreparedWorker& prepared, std::size_t index,
                           const Workplace& place, TrialKeeper& keeper) {
  // Each run of a trial has another seed: its between-process spread is then not the same twice.
  const RunOrder wanted{.purpose = order.purpose,
                        .steps = trial_fidelity(place.spec, order.configuration).steps,
                        .seed = place.spec.run.seed + index,
                        .deadline = order.earlier_deadline(place.spec.run.deadline)};
  const auto plan = [&]() -> measure::RunPlan {
    measure::RunPlan planned = place.executor.plan(order.configuration, prepared, wanted);
    keeper.begin_run(planned);
    place.observer.running(order.number, order.configuration);
    return planned;
  };
  return record_of(place.run(plan, [&](const space::Run& lost) { keeper.keep(record_of(lost, place)); }), place);
}

/// The same in turns with the reference; alone from the first on that says nothing of the trial.
db::RunRecord next_run(const TrialOrder& order, const PreparedWorker& prepared, std::size_t index,
                       const Workplace& place, TrialKeeper& keeper, Turns& turns) {
  if (turns.prepared) {
    auto measured = run_in_turns(order, prepared, {.reference = *turns.reference, .prepared = *turns.prepared}, index,
                                 place, keeper);
    if (measured.log_ratio) turns.log_ratios.push_back(*measured.log_ratio);
    if (measured.why_alone.empty()) return std::move(measured.run);
    keeper.keep(measured.run);
    place.observer.note(fmt::format("trial {}: {}: it is measured alone", order.number, measured.why_alone));
    turns.prepared.reset();
  }
  return run_of_trial(order, prepared, index, place, keeper);
}

/// Measures a trial as often as it wants. `runs`: those it has already. False: cut short.
bool measure_trial(const TrialOrder& order, const PreparedWorker& prepared, std::vector<space::Run> runs,
                   const Workplace& place, TrialKeeper& keeper, Turns& turns, TrialAnswer& answer) {
  bool another = runs.empty() || judge(runs, prepared, place.spec, order, turns, answer.trial);
  while (another) {
    db::RunRecord record = next_run(order, prepared, runs.size(), place, keeper, turns);
    if (record.run.outcome == space::Outcome::Killed) {
      keeper.keep(record);
      return false;
    }
    if (record.run.outcome == space::Outcome::Timeout && order.earlier_deadline(place.spec.run.deadline))
      record.run.reason += "; the budget has no more time for a trial";
    runs.push_back(record.run);
    another = judge(runs, prepared, place.spec, order, turns, answer.trial);
    if (const std::string why = slowed_by(record.run); !why.empty())
      place.observer.note(fmt::format("trial {}: {}{}", order.number, why, another ? ": it is measured again" : ""));
    if (another) keeper.keep(record);  // before the next begins: a kill costs one run, not all
    answer.runs.push_back(std::move(record));
  }
  return true;
}

/// The run is no trial's, so nobody would clean its folder away; what mattered of it is kept in the record.
void remove_folder(const measure::RunPlan& plan) {
  std::error_code ignored;
  if (plan.folder.is_absolute() && plan.folder.filename() == plan.id) std::filesystem::remove_all(plan.folder, ignored);
}

/// A few steps of a software stack that is prepared.
space::Run try_steps(const PreparationOrder& order, const space::Configuration& configuration,
                     const PreparedWorker& prepared, const Workplace& place) {
  measure::RunPlan planned;
  const auto plan = [&] {
    planned = place.executor.plan(configuration, prepared,
                                  {.purpose = space::Purpose::Gate, .steps = order.steps, .seed = place.spec.run.seed});
    planned.request.steps_per_sample = 1;
    return planned;
  };
  space::Run run = place.run(plan, [&](const space::Run&) { remove_folder(planned); });
  remove_folder(planned);
  return run;
}

/// Whether the ladder's next configuration is to be tried; empty: cut short.
std::optional<bool> try_stack(const PreparationOrder& order, const space::Configuration& configuration,
                              const Workplace& place, PreparationAnswer& answer) {
  db::PreflightRecord& record = answer.record;
  record.configuration = configuration;
  const auto began = std::chrono::steady_clock::now();
  const auto prepared = place.prepare_in_slot(configuration);
  record.prepare += std::chrono::steady_clock::now() - began;
  if (!prepared) {
    record.reason = prepared.error().reason;
    if (prepared.error().outcome == space::Outcome::Killed) return std::nullopt;
    record.outcome = prepared.error().outcome;
    record.log_tail = prepared.error().log_tail;
    return false;
  }
  answer.worker = prepared->worker;
  if (prepared->build) answer.builds.push_back(*prepared->build);
  record.outcome = space::Outcome::Ok;
  if (order.steps == 0) return false;
  const space::Run run = try_steps(order, configuration, *prepared, place);
  if (run.outcome == space::Outcome::Killed) return std::nullopt;
  record.outcome = run.outcome;
  record.reason = run.reason;
  record.train = run.wall;
  record.log_tail = run.outcome == space::Outcome::Ok ? std::string() : run.log_tail;
  const auto batch = configuration.integer_of(order.batch);
  if (run.outcome != space::Outcome::OutOfMemory || !batch || configuration == order.ladder.back()) return false;
  record.too_large.push_back(*batch);
  return true;
}

void compare(const GateOrder& order, GateAnswer& answer) {
  const auto tolerances =
      measure::gate_tolerances(order.configuration.text_of("precision", "f32"), measure::is_normalised(*order.against));
  const auto compared = measure::compare_gate(*order.against, answer.run.run, tolerances);
  if (compared)
    answer.verdict = GateAnswer::Verdict{.agrees = compared->agrees, .sentence = compared->difference.sentence};
  else
    answer.why_none = compared.error();
}

/// The error is how the order ends: the session ends, or its time. Throws where a disk is too full.
std::expected<std::expected<PreparedWorker, PreparationFailure>, OrderEnd> prepared_for(
    const space::Configuration& configuration, bool reference, const Workplace& place) {
  auto prepared = reference ? place.prepare_reference(configuration) : place.prepare(configuration);
  if (!prepared && prepared.error().outcome == space::Outcome::Killed)
    return std::unexpected(cut_short(place, place.interruption.suspensions()));
  return prepared;
}

void add_build(const PreparedWorker& prepared, std::vector<db::BuildRecord>& builds) {
  if (prepared.build) builds.push_back(*prepared.build);
}

MachineAnswer describe(const DescribeOrder& order, const Workplace& place) {
  MachineAnswer answer{.facts = place.spec.facts,
                       .cpus = place.executor.cpus(),
                       .memory_limit_bytes = place.executor.memory_limit_bytes(),
                       .shared_memory_bytes = place.executor.shared_memory_bytes()};
  if (!order.parts) return answer;
  if (auto parts = measure::parts_of_this_machine(*order.parts))
    answer.parts = *std::move(parts);
  else
    answer.why_no_parts = parts.error();
  return answer;
}

/// A run that could not be begun.
space::Run never_begun(const PreparationFailure& failure) {
  space::Run run;
  run.outcome = failure.outcome;
  run.reason = failure.reason;
  run.log_tail = failure.log_tail;
  return run;
}

TaskAnswer prepare_and_carry_out(const PairOrder& order, const Workplace& place) {
  PairAnswer answer;
  const auto baseline = prepared_for(order.baseline.configuration, false, place);
  if (!baseline) return PairAnswer{.end = baseline.error()};
  const auto candidate = prepared_for(order.candidate.configuration, false, place);
  if (!candidate) return PairAnswer{.end = candidate.error()};
  if (*baseline && *candidate) {
    answer = carry_out(order, PreparedPair{.baseline = **baseline, .candidate = **candidate}, place);
  } else {
    answer.pair.index = order.index;
    if (!*baseline) answer.pair.baseline.run = never_begun(baseline->error());
    if (!*candidate) answer.pair.candidate.run = never_begun(candidate->error());
  }
  for (const auto* side : {&*baseline, &*candidate})
    if (*side) add_build(**side, answer.builds);
  return answer;
}

TaskAnswer prepare_and_carry_out(const GateOrder& order, const Workplace& place) {
  GateAnswer answer;
  const auto prepared = prepared_for(order.configuration, order.reference, place);
  if (!prepared) return GateAnswer{.end = prepared.error()};
  if (!*prepared) {
    answer.run.run = never_begun(prepared->error());
    return answer;
  }
  answer = carry_out(order, **prepared, place, [](const db::RunRecord&) {});
  add_build(**prepared, answer.builds);
  return answer;
}

}  // namespace

space::Fidelity trial_fidelity(const CampaignSpec& spec, const space::Configuration& configuration) {
  const std::int64_t all = spec.run.steps;
  // A lever that makes batches larger makes steps longer: fewer of them see as many samples.
  if (!spec.worker.own.levers.contains("batch")) return {.steps = all};
  const std::int64_t usual = spec.space.default_configuration().integer_of("batch").value_or(0),
                     batch = configuration.integer_of("batch").value_or(0);
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

TrialAnswer begin_answer(std::int64_t number, const space::Configuration& configuration, const std::string& worker,
                         const Workplace& place) {
  TrialAnswer answer{.number = number};
  answer.trial.number = number;
  answer.trial.configuration = configuration;
  answer.trial.fidelity = trial_fidelity(place.spec, configuration);
  answer.reservation = {.number = number,
                        .configuration = configuration,
                        .fidelity = answer.trial.fidelity,
                        .key = trial_key(place.spec, configuration, answer.trial.fidelity, worker,
                                         place.fingerprint.key(), place.images)};
  return answer;
}

OrderEnd cut_short(const Workplace& place, std::int64_t suspensions) {
  if (place.interruption.again_after_suspension(suspensions)) return OrderEnd::Suspended;
  const bool by_time = place.interruption.out_of_time() && !place.interruption.requested();
  return by_time ? OrderEnd::OutOfTime : OrderEnd::Interrupted;
}

TrialAnswer carry_out(const TrialOrder& order, const Workplace& place, TrialKeeper& keeper,
                      const TrialReference* reference) {
  const auto suspensions = place.interruption.suspensions();
  const auto interrupted = [&](const std::string& what) {
    TrialAnswer answer{.number = order.number, .end = cut_short(place, suspensions)};
    answer.trial.reason = what;
    return answer;
  };
  const auto slot = place.take_slot();
  if (!slot) return interrupted({});

  place.observer.preparing(order.number, order.configuration);
  const auto prepared = place.prepare_in_slot(order.configuration);
  if (!prepared) {
    if (prepared.error().outcome == space::Outcome::Killed) return interrupted(prepared.error().reason);
    auto answer = begin_answer(order.number, order.configuration, "unprepared " + prepared.error().reason, place);
    answer.trial.outcome = prepared.error().outcome;
    answer.trial.reason = prepared.error().reason;
    answer.log_tail = prepared.error().log_tail;
    return answer;
  }
  Turns turns{.reference = reference};
  if (reference != nullptr) {
    auto other = place.prepare_in_slot(reference->configuration);
    if (!other && other.error().outcome == space::Outcome::Killed) return interrupted(other.error().reason);
    if (other) turns.prepared = std::move(*other);
  }
  // Compared with what else ran, it measures another thing.
  const std::string beside =
      turns.prepared ? fmt::format(" beside {} {}", reference->configuration.identity(), turns.prepared->worker) : "";
  auto answer = begin_answer(order.number, order.configuration, prepared->worker + beside, place);
  if (prepared->build) {
    answer.builds.push_back(*prepared->build);
    keeper.built(*prepared->build);
  }
  auto before = keeper.begin(answer.reservation, order.purpose);
  if (!before) return answer;
  place.observer.prepared(order.number, prepared->built_now ? prepared->build_time : std::chrono::nanoseconds{0});
  if (turns.prepared && !before->empty())
    turns.log_ratios = keeper.ratios_of_before(*reference, turns.prepared->schedule, prepared->schedule);
  if (!measure_trial(order, *prepared, *std::move(before), place, keeper, turns, answer))
    answer.end = cut_short(place, suspensions);
  answer.ratios = static_cast<int>(turns.log_ratios.size());
  return answer;
}

PreparationAnswer carry_out(const PreparationOrder& order, const Workplace& place) {
  const auto suspensions = place.interruption.suspensions();
  PreparationAnswer answer{.record = {.stack = order.stack}};
  const auto slot = place.take_slot();
  bool whole = slot.has_value();
  for (const space::Configuration& configuration : order.ladder) {
    if (!whole) break;
    if (answer.record.too_large.size() >= kMostTooLarge && configuration != order.ladder.back()) continue;
    const auto goes_on = try_stack(order, configuration, place, answer);
    whole = goes_on.has_value();
    if (!goes_on.value_or(false)) break;
  }
  if (!whole) answer.end = cut_short(place, suspensions);
  return answer;
}

GateAnswer carry_out(const GateOrder& order, const PreparedWorker& prepared, const Workplace& place,
                     const std::function<void(const db::RunRecord&)>& lost) {
  const auto suspensions = place.interruption.suspensions();
  GateAnswer answer;
  const auto slot = place.take_slot();
  if (slot) {
    const auto plan = [&] {
      measure::RunPlan planned = place.executor.plan(order.configuration, prepared, order.run);
      if (planned.request.gate && planned.request.gate->write)
        planned.request.gate->write = (planned.folder / *planned.request.gate->write).string();
      return planned;
    };
    answer.run = record_of(place.run(plan, [&](const space::Run& run) { lost(record_of(run, place)); }), place);
  }
  if (!slot || answer.run.run.outcome == space::Outcome::Killed) answer.end = cut_short(place, suspensions);
  if (order.against && answer.run.run.outcome == space::Outcome::Ok) compare(order, answer);
  return answer;
}

OrderAnswer carry_out(const Task& task, const Workplace& place) {
  struct CarryOut {
    const Workplace& place;
    TaskAnswer operator()(const DescribeOrder& order) const { return describe(order, place); }
    TaskAnswer operator()(const PreparationOrder& order) const { return tuner::carry_out(order, place); }
    TaskAnswer operator()(const TrialOrder& order) const {
      // There is no database behind an order that came as JSON: its answer carries all there is to store.
      TrialKeeper none;
      return tuner::carry_out(order, place, none);
    }
    TaskAnswer operator()(const PairOrder& order) const { return prepare_and_carry_out(order, place); }
    TaskAnswer operator()(const GateOrder& order) const { return prepare_and_carry_out(order, place); }
  };
  return {.machine = place.fingerprint, .result = std::visit(CarryOut{place}, task)};
}

}  // namespace nocturne::tuner
