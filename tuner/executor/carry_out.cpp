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
#include "measure/comparison/pair.hpp"
#include "measure/comparison/statistics.hpp"
#include "measure/comparison/stopping.hpp"
#include "measure/gate/gate.hpp"
#include "space/digest.hpp"
#include "tuner/executor/measured_pair.hpp"

namespace nocturne::tuner {
namespace {

/// After so many batches of a software stack that were out of memory only its smallest is tried: whether it goes is the
/// question, how large its batch may be is the search's.
constexpr std::size_t kMostTooLarge = 2;

db::RunRecord record_of(space::Run run, const Workplace& place) {
  return {.run = std::move(run), .fingerprint = place.fingerprint.identity()};
}

/// How an order ends that was cut short. `suspensions`: when it began.
OrderEnd cut_short(const Workplace& place, std::int64_t suspensions) {
  return place.interruption.again_after_suspension(suspensions) ? OrderEnd::Suspended : OrderEnd::Interrupted;
}

/// Writes the result of its runs so far into the record; whether it wants another.
bool judge(const std::vector<space::Run>& runs, const PreparedWorker& prepared, const CampaignSpec& spec,
           const TrialOrder& order, space::Trial& record) {
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
      disturbed = summary->disturbed;
    } else {
      record.outcome = space::Outcome::ProtocolError;
      record.reason = summary.error();
    }
  }
  const bool surprising = record.estimate && order.expected &&
                          measure::is_surprising(*record.estimate, order.expected->log_time, order.expected->log_sd);
  bool another = disturbed || surprising ||
                 measure::needs_another_run(record.outcome, record.estimate, order.incumbent,
                                            {.repeats = settings.repeats, .process_sd = settings.process_sd})
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
                        .deadline = {}};
  const auto plan = [&]() -> measure::RunPlan {
    measure::RunPlan planned = place.executor.plan(order.configuration, prepared, wanted);
    keeper.begin_run(planned);
    place.observer.running(order.number, order.configuration);
    return planned;
  };
  return record_of(place.run(plan, [&](const space::Run& lost) { keeper.keep(record_of(lost, place)); }), place);
}

/// Measures a trial as often as it wants. `runs`: those it has already. False: cut short.
bool measure_trial(const TrialOrder& order, const PreparedWorker& prepared, std::vector<space::Run> runs,
                   const Workplace& place, TrialKeeper& keeper, TrialAnswer& answer) {
  bool another = runs.empty() || judge(runs, prepared, place.spec, order, answer.trial);
  while (another) {
    db::RunRecord record = run_of_trial(order, prepared, runs.size(), place, keeper);
    if (record.run.outcome == space::Outcome::Killed) {
      keeper.keep(record);
      return false;
    }
    runs.push_back(record.run);
    another = judge(runs, prepared, place.spec, order, answer.trial);
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
    planned = place.executor.plan(
        configuration, prepared,
        {.purpose = space::Purpose::Gate, .steps = order.steps, .seed = place.spec.run.seed, .deadline = {}});
    planned.request.steps_per_sample = 1;
    return planned;
  };
  space::Run run = place.run(plan, [&](const space::Run&) { remove_folder(planned); });
  remove_folder(planned);
  return run;
}

/// The batch of a configuration; empty where it has none that is a whole number.
std::optional<std::int64_t> batch_of(const PreparationOrder& order, const space::Configuration& configuration) {
  const space::Value* value = configuration.find(order.batch);
  const auto* number = value != nullptr ? std::get_if<std::int64_t>(value) : nullptr;
  return number != nullptr ? std::optional(*number) : std::nullopt;
}

/// Whether the ladder's next configuration is to be tried; empty: cut short.
std::optional<bool> try_stack(const PreparationOrder& order, const space::Configuration& configuration,
                              const Workplace& place, PreparationAnswer& answer) {
  db::PreflightRecord& record = answer.record;
  record.configuration = configuration;
  const auto began = std::chrono::steady_clock::now();
  const auto prepared = unless_full(place.executor.prepare(configuration, place.interruption.token()));
  record.prepare += std::chrono::steady_clock::now() - began;
  if (!prepared) {
    if (prepared.error().outcome == space::Outcome::Killed) return std::nullopt;
    record.outcome = prepared.error().outcome;
    record.reason = prepared.error().reason;
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
  const auto batch = batch_of(order, configuration);
  if (run.outcome != space::Outcome::OutOfMemory || !batch || configuration == order.ladder.back()) return false;
  record.too_large.push_back(*batch);
  return true;
}

measure::PairPlan plan_pair(const PairOrder& order, const PreparedPair& prepared, const Workplace& place) {
  const RunOrder wanted{.purpose = space::Purpose::Verify,
                        .steps = std::max(order.baseline.slice_steps, order.candidate.slice_steps) * order.slices,
                        .seed = order.seed,
                        .deadline = {}};
  measure::PairPlan plan;
  plan.slices = static_cast<std::size_t>(order.slices);
  auto& [first, second] = plan.sides;
  const auto fill = [&](measure::PairSide& side, const PairOrder::Side& with, const PreparedWorker& ready) {
    side.plan = place.executor.plan(with.configuration, ready, wanted);
    side.slice_steps = with.slice_steps;
  };
  const bool candidate_first = candidate_is_first(order.index);
  fill(candidate_first ? second : first, order.baseline, prepared.baseline);
  fill(candidate_first ? first : second, order.candidate, prepared.candidate);
  return plan;
}

/// How a pair that is not complete ended.
OrderEnd end_of_failure(const measure::PairResult& result, const measure::PairPlan& plan, const Workplace& place,
                        std::int64_t suspensions) {
  if (place.interruption.again_after_suspension(suspensions)) return OrderEnd::Suspended;
  const auto killed = [&](const space::Run& run) {
    return run.outcome == space::Outcome::Killed || killed_by_others(run, place.interruption.token());
  };
  const auto failed = [&](const space::Run& run) { return run.outcome != space::Outcome::Ok && !killed(run); };
  // A side that was killed with its partner says nothing of itself: only a side that ended badly by itself is a
  // failure.
  const bool none_failed = std::ranges::any_of(result.runs, killed) && std::ranges::none_of(result.runs, failed);
  if (!none_failed) {
    if (auto no_room = no_room_in(plan.sides.front().plan.folder)) throw *std::move(no_room);
    if (auto gone = images_gone(place.spec.workload)) throw *std::move(gone);
  }
  if (place.interruption.requested()) return OrderEnd::Interrupted;
  return none_failed ? OrderEnd::Lost : OrderEnd::Finished;
}

db::Side side_of(measure::Side side, bool candidate_first) {
  return (side == measure::Side::A) == candidate_first ? db::Side::Candidate : db::Side::Baseline;
}

std::vector<db::Slice> stored_slices(const measure::PairResult& result, bool candidate_first) {
  std::vector<db::Slice> slices;
  for (const measure::Slice& slice : result.slices) {
    if (slice.samples.empty()) continue;
    db::Slice stored{.side = side_of(slice.side, candidate_first), .first_step = slice.samples.front().first_step};
    for (const space::Sample& sample : slice.samples) {
      stored.steps += sample.steps;
      stored.wall_ns += sample.wall.count();
    }
    slices.push_back(stored);
  }
  return slices;
}

void compare(const GateOrder& order, GateAnswer& answer) {
  const auto tolerances =
      measure::gate_tolerances(precision_of(order.configuration), measure::is_normalised(*order.against));
  const auto compared = measure::compare_gate(*order.against, answer.run.run, tolerances);
  if (compared)
    answer.verdict = GateAnswer::Verdict{.agrees = compared->agrees, .sentence = compared->difference.sentence};
  else
    answer.why_none = compared.error();
}

/// Empty: the session ends. Throws where a disk is too full.
std::optional<std::expected<PreparedWorker, PreparationFailure>> prepared_for(const space::Configuration& configuration,
                                                                              bool reference, const Workplace& place) {
  auto prepared = reference ? place.prepare_reference(configuration) : place.prepare(configuration);
  if (!prepared && prepared.error().outcome == space::Outcome::Killed) return std::nullopt;
  return prepared;
}

void add_build(const PreparedWorker& prepared, std::vector<db::BuildRecord>& builds) {
  if (prepared.build) builds.push_back(*prepared.build);
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
  PairAnswer answer{.end = OrderEnd::Interrupted};
  const auto baseline = prepared_for(order.baseline.configuration, false, place);
  if (!baseline) return answer;
  const auto candidate = prepared_for(order.candidate.configuration, false, place);
  if (!candidate) return answer;
  if (*baseline && *candidate) {
    answer = carry_out(order, PreparedPair{.baseline = **baseline, .candidate = **candidate}, place);
  } else {
    answer.end = OrderEnd::Finished;
    answer.pair.index = order.index;
    if (!*baseline) answer.pair.baseline.run = never_begun(baseline->error());
    if (!*candidate) answer.pair.candidate.run = never_begun(candidate->error());
  }
  for (const auto* side : {&*baseline, &*candidate})
    if (*side) add_build(**side, answer.builds);
  return answer;
}

TaskAnswer prepare_and_carry_out(const GateOrder& order, const Workplace& place) {
  GateAnswer answer{.end = OrderEnd::Interrupted};
  const auto prepared = prepared_for(order.configuration, order.reference, place);
  if (!prepared) return answer;
  if (!*prepared) {
    answer.end = OrderEnd::Finished;
    answer.run.run = never_begun(prepared->error());
    return answer;
  }
  answer = carry_out(order, **prepared, place, [](const db::RunRecord&) {});
  add_build(**prepared, answer.builds);
  return answer;
}

std::int64_t batch_of(const space::Configuration& configuration) {
  const auto* value = configuration.find("batch");
  const auto* batch = value != nullptr ? std::get_if<std::int64_t>(value) : nullptr;
  return batch != nullptr ? *batch : 0;
}

}  // namespace

space::Fidelity trial_fidelity(const CampaignSpec& spec, const space::Configuration& configuration) {
  const std::int64_t all = spec.run.steps;
  // A lever that makes batches larger makes steps longer: fewer of them see as many samples.
  if (!spec.worker.own.levers.contains("batch")) return {.steps = all};
  const std::int64_t usual = batch_of(spec.space.default_configuration()), batch = batch_of(configuration);
  if (usual <= 0 || batch <= usual) return {.steps = all};
  return {.steps = std::clamp(all * usual / batch, std::min(kFewestTimedSteps, all), all)};
}

std::string precision_of(const space::Configuration& configuration) {
  const space::Value* precision = configuration.find("precision");
  return precision != nullptr ? space::to_text(*precision) : "f32";
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

TrialAnswer carry_out(const TrialOrder& order, const Workplace& place, TrialKeeper& keeper) {
  const auto suspensions = place.interruption.suspensions();
  const auto interrupted = [&] { return TrialAnswer{.number = order.number, .end = cut_short(place, suspensions)}; };
  const auto slot = place.take_slot();
  if (!slot) return interrupted();

  place.observer.preparing(order.number, order.configuration);
  const auto prepared = unless_full(place.executor.prepare(order.configuration, place.interruption.token()));
  if (!prepared) {
    if (prepared.error().outcome == space::Outcome::Killed) return interrupted();
    auto answer = begin_answer(order.number, order.configuration, "unprepared " + prepared.error().reason, place);
    answer.trial.outcome = prepared.error().outcome;
    answer.trial.reason = prepared.error().reason;
    answer.log_tail = prepared.error().log_tail;
    return answer;
  }
  auto answer = begin_answer(order.number, order.configuration, prepared->worker, place);
  if (prepared->build) {
    answer.builds.push_back(*prepared->build);
    keeper.built(*prepared->build);
  }
  auto before = keeper.begin(answer.reservation, order.purpose);
  if (!before) return answer;
  place.observer.prepared(order.number, prepared->built_now ? prepared->build_time : std::chrono::nanoseconds{0});
  if (!measure_trial(order, *prepared, *std::move(before), place, keeper, answer))
    answer.end = cut_short(place, suspensions);
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

PairAnswer carry_out(const PairOrder& order, const PreparedPair& prepared, const Workplace& place) {
  const auto suspensions = place.interruption.suspensions();
  PairAnswer answer;
  const auto slot = place.take_slot();
  if (!slot) {
    answer.end = cut_short(place, suspensions);
    return answer;
  }
  const measure::PairPlan plan = plan_pair(order, prepared, place);
  measure::PairControl control;
  control.stop = place.interruption.token();
  const bool swapped = order.index / 2 % 2 == 1;  // each order with each half
  const auto cpus = place.executor.cpus();
  measure::PairResult result = measure_pair(place.executor, plan, order.method, cpus, swapped, control);
  answer.complete = result.complete();
  if (!answer.complete) answer.end = end_of_failure(result, plan, place, suspensions);
  const bool candidate_first = candidate_is_first(order.index);
  const std::size_t of_candidate = candidate_first ? 0 : 1;
  answer.pair = {.index = order.index,
                 .first = candidate_first ? db::Side::Candidate : db::Side::Baseline,
                 .candidate = record_of(std::move(result.runs[of_candidate]), place),
                 .baseline = record_of(std::move(result.runs[1 - of_candidate]), place),
                 .slices = stored_slices(result, candidate_first)};
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
    TaskAnswer operator()(const DescribeOrder&) const {
      return MachineAnswer{.facts = place.spec.facts,
                           .cpus = place.executor.cpus(),
                           .memory_limit_bytes = place.executor.memory_limit_bytes(),
                           .shared_memory_bytes = place.executor.shared_memory_bytes()};
    }
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
