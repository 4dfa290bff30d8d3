#include "tuner/campaign/finals/comparing.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "tuner/campaign/finals/measured_pair.hpp"
#include "tuner/campaign/finals/stored_pairs.hpp"
#include "tuner/campaign/pacing.hpp"

namespace nocturne::tuner {
namespace {

/// Pairs that failed are tried again, this many in all: a machine has bad moments, a configuration that fails in
/// every third pair is no winner.
constexpr std::int64_t kSparePairs = 3;
/// Pairs that others killed say nothing of the configurations; but somebody who goes on killing is let have his way.
constexpr std::int64_t kMostLost = 10;

db::Expected<std::optional<Prepared>> prepare_again(const Sitting& sitting, const db::StoredTrial& trial) {
  auto prepared = sitting.prepare(trial.trial.configuration);
  if (prepared) return std::move(*prepared);
  if (auto no_room = no_room_for(prepared.error())) return std::unexpected(*std::move(no_room));
  if (!sitting.interruption.requested()) {
    sitting.observer.note(
        fmt::format("trial {} cannot be prepared again: {}", trial.trial.number, prepared.error().reason));
  }
  return std::nullopt;
}

}  // namespace

Comparing::Comparing(const Sitting& sitting, const db::StoredTrial& baseline, const db::StoredTrial& candidate,
                     Prepared prepared_baseline, Prepared prepared_candidate)
    : sitting_(&sitting),
      baseline_(&baseline),
      candidate_(&candidate),
      prepared_baseline_(std::move(prepared_baseline)),
      prepared_candidate_(std::move(prepared_candidate)) {}

db::Expected<std::optional<Comparing>> Comparing::open(const Sitting& sitting, const db::StoredTrial& baseline,
                                                       const db::StoredTrial& candidate, std::string role) {
  auto prepared_baseline = prepare_again(sitting, baseline);
  if (!prepared_baseline) return std::unexpected(prepared_baseline.error());
  if (!*prepared_baseline) return std::nullopt;
  auto prepared_candidate = prepare_again(sitting, candidate);
  if (!prepared_candidate) return std::unexpected(prepared_candidate.error());
  if (!*prepared_candidate) return std::nullopt;
  Comparing opened(sitting, baseline, candidate, std::move(**prepared_baseline), std::move(**prepared_candidate));
  const auto known = sitting.store.comparisons(sitting.campaign);
  if (!known) return std::unexpected(known.error());
  for (const db::StoredComparison& stored : *known) {
    if (stored.record.role != role || stored.record.candidate != candidate.trial.configuration ||
        stored.record.baseline != baseline.trial.configuration) {
      continue;
    }
    opened.id_ = stored.id;
    // Goes on as it began: pairs of two ways do not belong into one interval.
    opened.method_ = measure::pair_method_from_text(stored.record.method).value_or(measure::PairMethod::Slices);
    opened.estimator_ =
        measure::step_estimator_from_text(stored.record.estimator).value_or(measure::StepEstimator::Paired);
    opened.pairs_ = std::ssize(stored.pairs);
    for (const db::StoredPair& pair : stored.pairs) opened.next_index_ = std::max(opened.next_index_, pair.index + 1);
  }
  if (opened.id_ == 0) {
    const PairMethodChoice choice = opened.choose_method();
    opened.method_ = choice.method;
    opened.estimator_ = choice.estimator;
    const auto begun = sitting.store.begin_comparison({.campaign = sitting.campaign,
                                                       .candidate = candidate.trial.configuration,
                                                       .baseline = baseline.trial.configuration,
                                                       .role = std::move(role),
                                                       .method = std::string(measure::to_text(choice.method)),
                                                       .estimator = std::string(measure::to_text(choice.estimator))});
    if (!begun) return std::unexpected(begun.error());
    opened.id_ = *begun;
  }
  return opened;
}

PairMethodChoice Comparing::choose_method() const {
  if (!sitting_->spec.worker.own.empty()) return {};  // how its pairs are timed, its own template says
  const auto side = [](const space::Trial& trial, const Prepared& prepared) {
    return PairedSide{.configuration = trial.configuration,
                      .launch = prepared.launch,
                      .peak_bytes = trial.peak_bytes,
                      .contained = prepared.contained != nullptr,
                      .device_bytes = trial.device_bytes,
                      .device_memory_bytes = trial.device_memory_bytes};
  };
  auto choice = choose_pair_method(sitting_->spec.verify, side(baseline_->trial, prepared_baseline_),
                                   side(candidate_->trial, prepared_candidate_), sitting_->executor.cpus().size(),
                                   sitting_->executor.shared_memory_bytes());
  if (!choice.instead.empty()) {
    sitting_->observer.note(fmt::format("trials {} and {}: pairs are measured {}", baseline_->trial.number,
                                        candidate_->trial.number, choice.instead));
  }
  return choice;
}

std::chrono::nanoseconds Comparing::pair_time() const {
  return measured_ > 0 ? spent_ / measured_ : std::chrono::nanoseconds{0};
}

db::Expected<bool> Comparing::measure_up_to(std::int64_t wanted) {
  for (std::int64_t failed = 0, lost = 0; pairs_ < wanted && failed < kSparePairs && lost < kMostLost;) {
    if (sitting_->interruption.requested()) return false;
    sitting_->observer.verifying(pairs_, wanted);
    const auto began = sitting_->clock.steady();
    const auto suspensions = sitting_->interruption.suspensions();
    const auto done = measure_pair();
    if (!done) return std::unexpected(done.error());
    if (*done != PairEnd::Stored) {
      if (sitting_->interruption.again_after_suspension(suspensions)) continue;
      ++(*done == PairEnd::Failed ? failed : lost);
      continue;
    }
    ++pairs_;
    ++measured_;
    spent_ += sitting_->clock.steady() - began;
    const auto found = ratios();
    if (!found) return std::unexpected(found.error());
    sitting_->observer.pair_finished(pairs_, wanted, measure::compare((*found)[primary_horizon()]));
  }
  return pairs_ >= wanted;
}

db::Expected<Comparing::PairEnd> Comparing::measure_pair() {
  const auto slot = sitting_->take_slot();
  if (!slot) return PairEnd::Lost;
  const VerifySettings& verify = sitting_->spec.verify;
  const std::int64_t index = next_index_++;
  const SliceSteps steps = slice_steps(verify, *baseline_->trial.parts, *candidate_->trial.parts);
  const RunOrder order{.purpose = space::Purpose::Verify,
                       .steps = std::max(steps.baseline, steps.candidate) * verify.slices,
                       .seed = sitting_->spec.run.seed + static_cast<std::uint64_t>(index),
                       .deadline = {}};
  // Who starts first, and so lies first in memory, alternates.
  const bool candidate_first = index % 2 == 1;
  const std::size_t candidate_side = candidate_first ? 0 : 1;
  const std::size_t baseline_side = 1 - candidate_side;
  measure::PairPlan plan;
  plan.slices = static_cast<std::size_t>(verify.slices);
  plan.sides[baseline_side].plan = sitting_->executor.plan(baseline_->trial.configuration, prepared_baseline_, order);
  plan.sides[baseline_side].slice_steps = steps.baseline;
  plan.sides[candidate_side].plan =
      sitting_->executor.plan(candidate_->trial.configuration, prepared_candidate_, order);
  plan.sides[candidate_side].slice_steps = steps.candidate;
  measure::PairControl control;
  control.stop = sitting_->interruption.token();
  const bool swapped = index / 2 % 2 == 1;  // each order with each half
  measure::PairResult result =
      tuner::measure_pair(sitting_->executor, plan, method_, sitting_->executor.cpus(), swapped, control);
  if (!result.complete()) {
    const auto killed = [&](const space::Run& run) {
      return run.outcome == space::Outcome::Killed || killed_by_others(run, control.stop);
    };
    const auto failed = [&](const space::Run& run) { return run.outcome != space::Outcome::Ok && !killed(run); };
    if (std::ranges::any_of(result.runs, killed) && std::ranges::none_of(result.runs, failed)) return PairEnd::Lost;
    if (auto no_room = no_room_in(plan.sides.front().plan.folder)) return std::unexpected(*std::move(no_room));
    if (auto gone = images_gone(sitting_->spec.workload)) return std::unexpected(*std::move(gone));
    if (!sitting_->interruption.requested()) {
      for (const space::Run& run : result.runs) {
        if (run.outcome == space::Outcome::Ok || run.outcome == space::Outcome::Killed) continue;
        sitting_->observer.note(fmt::format("pair {}: {}: {}", index, space::to_text(run.outcome), run.reason));
      }
    }
    return PairEnd::Failed;
  }
  const std::string fingerprint = sitting_->fingerprint.identity();
  const db::PairRecord record{.index = index,
                              .first = candidate_first ? db::Side::Candidate : db::Side::Baseline,
                              .candidate_trial = candidate_->id,
                              .baseline_trial = baseline_->id,
                              .candidate = {.run = std::move(result.runs[candidate_side]), .fingerprint = fingerprint},
                              .baseline = {.run = std::move(result.runs[baseline_side]), .fingerprint = fingerprint},
                              .slices = stored_slices(result, candidate_first)};
  if (auto added = sitting_->store.add_pair(id_, record); !added) return std::unexpected(added.error());
  return PairEnd::Stored;
}

db::Expected<std::vector<std::vector<double>>> Comparing::ratios() const {
  const std::vector<double>& horizons = sitting_->spec.objective.epochs;
  std::vector<std::vector<double>> ratios(horizons.size());
  const auto known = sitting_->store.comparisons(sitting_->campaign);
  if (!known) return std::unexpected(known.error());
  const auto stored = std::ranges::find(*known, id_, &db::StoredComparison::id);
  if (stored == known->end()) return ratios;
  const auto pairs = stored_pairs(sitting_->store, *stored, prepared_baseline_.schedule, prepared_candidate_.schedule);
  if (!pairs) return std::unexpected(pairs.error());
  for (const std::string& sentence : pairs->unusable) sitting_->observer.note(sentence);
  for (std::size_t horizon = 0; horizon < horizons.size(); ++horizon)
    ratios[horizon] = log_ratios_at(*pairs, horizons[horizon]);
  return ratios;
}

std::size_t Comparing::primary_horizon() const {
  const std::vector<double>& horizons = sitting_->spec.objective.epochs;
  const auto found = std::ranges::find(horizons, sitting_->spec.objective.primary);
  return found == horizons.end() ? 0 : static_cast<std::size_t>(found - horizons.begin());
}

db::Expected<std::optional<measure::Comparison>> Comparing::judge(double confidence, double stated_confidence) {
  const auto found = ratios();
  if (!found) return std::unexpected(found.error());
  const std::vector<double>& horizons = sitting_->spec.objective.epochs;
  std::optional<measure::Comparison> primary;
  for (std::size_t horizon = 0; horizon < horizons.size(); ++horizon) {
    if ((*found)[horizon].size() < 2) continue;  // no interval yet
    const measure::Comparison comparison = measure::compare(
        (*found)[horizon], {.margin_percent = sitting_->spec.verify.margin_percent, .confidence = confidence});
    const bool is_primary = horizon == primary_horizon();
    db::VerdictRecord verdict = verdict_record(comparison, id_, horizons[horizon], stated_confidence);
    verdict.primary = is_primary;
    if (auto saved = sitting_->store.save_verdict(verdict); !saved) return std::unexpected(saved.error());
    if (is_primary) primary = comparison;
  }
  return primary;
}

}  // namespace nocturne::tuner
