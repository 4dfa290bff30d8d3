#include "tuner/executor/paired_run.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "measure/comparison/comparison.hpp"
#include "measure/comparison/noise.hpp"
#include "measure/comparison/pair.hpp"
#include "space/objective.hpp"
#include "tuner/executor/measured_pair.hpp"

namespace nocturne::tuner {
namespace {

/// Steps of a turn at most, where the reference's batch is the smaller one: the machine may drift between neighbours.
constexpr std::int64_t kLongestTurn = 64;

measure::PairPlan plan_pair(const PairOrder& order, const PreparedPair& prepared, const Workplace& place) {
  const RunOrder wanted{.purpose = space::Purpose::Verify,
                        .steps = std::max(order.baseline.slice_steps, order.candidate.slice_steps) * order.slices,
                        .seed = order.seed};
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

/// A pair that is planned; sides[0] of the plan starts first.
struct PlannedPair {
  measure::PairPlan plan;
  std::int64_t index = 0;
  bool candidate_first = false;
  measure::PairMethod method = measure::PairMethod::Slices;
  bool swapped = false;  ///< in a duet: side 0 has the upper half of the CPUs
};

struct MeasuredPair {
  PairAnswer answer;
  std::vector<double> of_baseline, of_candidate;  ///< seconds per step of each slice
};

/// `suspensions`: when the order began.
MeasuredPair measure_planned(const PlannedPair& planned, const Workplace& place, std::int64_t suspensions) {
  measure::PairControl control;
  control.stop = place.interruption.token();
  measure::PairResult result =
      measure_pair(place.executor, planned.plan, planned.method, place.executor.cpus(), planned.swapped, control);
  using enum measure::Side;
  const auto seconds = [&](measure::Side side) { return measure::slice_seconds(result.slices, side); };
  MeasuredPair measured{.answer = {.complete = result.complete()},
                        .of_baseline = seconds(planned.candidate_first ? B : A),
                        .of_candidate = seconds(planned.candidate_first ? A : B)};
  PairAnswer& answer = measured.answer;
  if (!answer.complete) answer.end = end_of_failure(result, planned.plan, place, suspensions);
  const auto record = [&](std::size_t side) {
    return db::RunRecord{.run = std::move(result.runs[side]), .fingerprint = place.fingerprint.identity()};
  };
  const std::size_t of_candidate = planned.candidate_first ? 0 : 1;
  answer.pair = {.index = planned.index,
                 .first = planned.candidate_first ? db::Side::Candidate : db::Side::Baseline,
                 .candidate = record(of_candidate),
                 .baseline = record(1 - of_candidate),
                 .slices = stored_slices(result, planned.candidate_first)};
  return measured;
}

/// Turns of a trial's steps, and of as many examples of the reference.
measure::PairPlan plan_turns(const TrialOrder& order, const PreparedWorker& prepared,
                             const PreparedReference& reference, std::size_t index, const Workplace& place) {
  const VerifySettings& verify = place.spec.verify;
  const std::int64_t steps = trial_fidelity(place.spec, order.configuration).steps;
  const std::int64_t slices =
      std::max<std::int64_t>(verify.slices, steps / std::max<std::int64_t>(1, verify.slice_steps));
  const std::int64_t own = (steps + slices - 1) / slices;
  const double examples = static_cast<double>(own * prepared.schedule.batch);
  const auto others = std::clamp<std::int64_t>(
      std::llround(examples / static_cast<double>(reference.prepared.schedule.batch)), 1, std::max(kLongestTurn, own));
  RunOrder wanted{.purpose = order.purpose,
                  .steps = slices * own,
                  .seed = place.spec.run.seed + index,
                  .deadline = order.earlier_deadline(place.spec.run.deadline)};
  measure::PairSide of_trial{.plan = place.executor.plan(order.configuration, prepared, wanted), .slice_steps = own};
  if (const std::int64_t room = reference.reference.memory_bytes; room > 0) {
    auto& limit = of_trial.plan.memory_limit_bytes;
    limit = std::min(limit.value_or(room), room);
  }
  wanted.purpose = space::Purpose::Verify;
  wanted.steps = slices * others;
  wanted.deadline.reset();
  measure::PairSide of_reference{
      .plan = place.executor.plan(reference.reference.configuration, reference.prepared, wanted),
      .slice_steps = others};
  measure::PairPlan plan;
  plan.slices = static_cast<std::size_t>(slices);
  plan.sides = {std::move(of_reference), std::move(of_trial)};
  return plan;
}

/// What a process ended by whoever was beside it. Memory that both need, turns that it does not take, a kill from
/// outside, and the end of the other side are none of these.
bool failed_by_itself(const space::Run& run) {
  switch (run.outcome) {
    case space::Outcome::Unsupported:
    case space::Outcome::Diverged:
    case space::Outcome::Timeout:
      return true;
    case space::Outcome::Crashed:
      return run.signal != SIGKILL;
    default:
      return false;
  }
}

/// Why a pair that is not whole says nothing of the trial.
std::string why_not_whole(const db::PairRecord& pair) {
  const space::Run& trial = pair.candidate.run;
  const space::Run& reference = pair.baseline.run;
  const bool its_own = trial.outcome != space::Outcome::Ok && trial.outcome != space::Outcome::Killed;
  const space::Run& failed = its_own ? trial : reference;
  return fmt::format("{} ended as {}: {}", its_own ? "in turns with the default it" : "the default beside it",
                     space::to_text(failed.outcome), failed.reason);
}

}  // namespace

PairAnswer carry_out(const PairOrder& order, const PreparedPair& prepared, const Workplace& place) {
  const auto suspensions = place.interruption.suspensions();
  const auto slot = place.take_slot();
  if (!slot) return {.end = cut_short(place, suspensions)};
  const bool swapped = order.index / 2 % 2 == 1;  // each order with each half
  return measure_planned({.plan = plan_pair(order, prepared, place),
                          .index = order.index,
                          .candidate_first = candidate_is_first(order.index),
                          .method = order.method,
                          .swapped = swapped},
                         place, suspensions)
      .answer;
}

RunInTurns run_in_turns(const TrialOrder& order, const PreparedWorker& prepared, const PreparedReference& reference,
                        std::size_t index, const Workplace& place, TrialKeeper& keeper) {
  const auto suspensions = place.interruption.suspensions();
  const std::int64_t turn = order.number + static_cast<std::int64_t>(index);
  PlannedPair planned{.plan = plan_turns(order, prepared, reference, index, place),
                      .index = static_cast<std::int64_t>(index),
                      .candidate_first = candidate_is_first(turn)};
  keeper.begin_run(planned.plan.sides[1].plan);
  place.observer.running(order.number, order.configuration);
  if (planned.candidate_first) std::swap(planned.plan.sides[0], planned.plan.sides[1]);
  auto [answer, of_reference, of_trial] = measure_planned(planned, place, suspensions);
  // Each is the other's load, and what else there was hits both.
  answer.pair.candidate.run.load.other_cpu.reset();
  answer.pair.baseline.run.load.other_cpu.reset();
  RunInTurns result{.run = answer.pair.candidate};
  space::Run& run = result.run.run;
  if (answer.complete) {
    const auto parts = measure::pair_parts(
        {.run = answer.pair.baseline.run, .schedule = reference.prepared.schedule, .slices = of_reference},
        {.run = run, .schedule = prepared.schedule, .slices = of_trial});
    if (parts) {
      result.log_ratio = std::log(parts->baseline.steady_step / parts->candidate.steady_step);
      keeper.keep_pair(reference.reference, answer.pair);
      return result;
    }
    result.why_alone = parts.error();
  } else if (answer.end == OrderEnd::Suspended || answer.end == OrderEnd::Interrupted) {
    run.outcome = space::Outcome::Killed;
    return result;
  } else if (failed_by_itself(run)) {
    return result;
  } else {
    result.why_alone = why_not_whole(answer.pair);
  }
  run.outcome = space::Outcome::Killed;
  run.reason = result.why_alone;
  return result;
}

void set_step(double seconds, double epochs, space::Trial& trial) {
  const double error = trial.estimate->standard_error / trial.estimate->value;
  trial.parts->steady_step = seconds;
  trial.estimate->value = space::total_time(*trial.parts, epochs);
  trial.estimate->standard_error = error * trial.estimate->value;
}

void judge_by_ratios(std::span<const double> log_ratios, double reference_step, double epochs, space::Trial& trial) {
  if (log_ratios.size() < 2) return set_step(reference_step * std::exp(-log_ratios.front()), epochs, trial);
  const measure::Noise noise = measure::noise_of(log_ratios);
  set_step(reference_step * std::exp(-noise.bias), epochs, trial);
  // What processes alone differ by is not what their ratios differ by.
  trial.estimate->standard_error = trial.estimate->value * noise.sd / std::sqrt(noise.pairs);
}

}  // namespace nocturne::tuner
