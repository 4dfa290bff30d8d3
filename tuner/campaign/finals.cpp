#include "tuner/campaign/finals.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "measure/comparison.hpp"
#include "tuner/campaign/pacing.hpp"

namespace nocturne::tuner {
namespace {

/// Pairs that failed are tried again, this many in all: a machine has bad moments, a configuration that fails in
/// every third pair is no winner.
constexpr std::int64_t kSparePairs = 3;

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

/// Seconds per step of each slice of one side, in order.
std::vector<double> slice_seconds(const db::StoredPair& pair, db::Side side) {
  std::vector<double> seconds;
  for (const db::Slice& slice : pair.slices) {
    if (slice.side != side || slice.steps == 0) continue;
    seconds.push_back(static_cast<double>(slice.wall_ns) * 1e-9 / static_cast<double>(slice.steps));
  }
  return seconds;
}

std::string_view verdict_word(measure::Verdict verdict) {
  switch (verdict) {
    case measure::Verdict::Faster: return "faster";
    case measure::Verdict::Slower: return "slower";
    case measure::Verdict::Same: return "same";
    case measure::Verdict::Undecided: break;
  }
  return "undecided";
}

}  // namespace

struct Finals::Pairing {
  db::ComparisonId comparison = 0;
  const db::StoredTrial& baseline;
  const db::StoredTrial& candidate;
  const Prepared& prepared_baseline;
  const Prepared& prepared_candidate;
};

std::optional<Prepared> Finals::prepare(const db::StoredTrial& trial) {
  auto prepared = sitting_.executor.prepare(trial.trial.configuration, sitting_.interruption.token());
  if (prepared) return std::move(*prepared);
  if (!sitting_.interruption.requested()) {
    sitting_.observer.note(fmt::format("trial {} cannot be prepared again: {}", trial.trial.number,
                                       prepared.error().reason));
  }
  return std::nullopt;
}

db::Expected<bool> Finals::run() {
  const auto baseline = sitting_.store.find_trial(sitting_.campaign, 0);
  if (!baseline) return std::unexpected(baseline.error());
  const auto best = sitting_.store.best(sitting_.campaign);
  if (!best) return std::unexpected(best.error());
  if (!*best || baseline->trial.outcome != space::Outcome::Ok) return true;  // nothing to compare with
  bool complete = true;
  if ((*best)->id != baseline->id) {
    const auto compared = compare(*baseline, **best);
    if (!compared) return compared;
    complete = *compared;
  }
  if (sitting_.spec.verify.accuracy_epochs > 0) {
    for (const auto& [trial, who] : {std::pair{&**best, "best"}, std::pair{&*baseline, "default"}}) {
      const auto trained = accuracy(*trial, who);
      if (!trained) return trained;
      complete = complete && *trained;
    }
  }
  return complete;
}

db::Expected<bool> Finals::compare(const db::StoredTrial& baseline, const db::StoredTrial& candidate) {
  const auto known = sitting_.store.comparisons(sitting_.campaign);
  if (!known) return std::unexpected(known.error());
  db::ComparisonId comparison = 0;
  std::int64_t done = 0;
  std::int64_t next_index = 0;
  for (const db::StoredComparison& stored : *known) {
    if (stored.record.candidate != candidate.trial.configuration ||
        stored.record.baseline != baseline.trial.configuration) {
      continue;
    }
    comparison = stored.id;
    done = std::ssize(stored.pairs);
    for (const db::StoredPair& pair : stored.pairs) next_index = std::max(next_index, pair.index + 1);
  }
  const std::int64_t wanted = sitting_.spec.verify.pairs;
  if (comparison == 0) {
    const auto begun = sitting_.store.begin_comparison({.campaign = sitting_.campaign,
                                                        .candidate = candidate.trial.configuration,
                                                        .baseline = baseline.trial.configuration});
    if (!begun) return std::unexpected(begun.error());
    comparison = *begun;
  } else if (done >= wanted) {
    return true;
  }
  const auto prepared_baseline = prepare(baseline);
  const auto prepared_candidate = prepare(candidate);
  if (!prepared_baseline || !prepared_candidate) return false;
  const Pairing pairing{comparison, baseline, candidate, *prepared_baseline, *prepared_candidate};

  for (std::int64_t failed = 0; done < wanted && failed < kSparePairs;) {
    if (sitting_.interruption.requested()) return false;
    sitting_.observer.verifying(done, wanted);
    const auto measured = measure_pair(pairing, next_index++);
    if (!measured) return measured;
    if (!*measured) {
      ++failed;
      continue;
    }
    ++done;
    const auto verdict = judge(pairing);
    if (!verdict) return std::unexpected(verdict.error());
    sitting_.observer.pair_finished(done, wanted, *verdict);
  }
  return done >= wanted;
}

db::Expected<bool> Finals::measure_pair(const Pairing& pairing, std::int64_t index) {
  const auto slot = sitting_.take_slot();
  if (!slot) return false;
  const VerifySettings& verify = sitting_.spec.verify;
  const SliceSteps steps = slice_steps(verify, *pairing.baseline.trial.parts, *pairing.candidate.trial.parts);
  const RunOrder order{.purpose = space::Purpose::Verify,
                       .steps = std::max(steps.baseline, steps.candidate) * verify.slices,
                       .seed = sitting_.spec.run.seed + static_cast<std::uint64_t>(index),
                       .deadline = {}};
  // Who starts first, and so lies first in memory, alternates.
  const bool candidate_first = index % 2 == 1;
  const std::size_t candidate_side = candidate_first ? 0 : 1;
  const std::size_t baseline_side = 1 - candidate_side;
  measure::PairPlan plan;
  plan.slices = static_cast<std::size_t>(verify.slices);
  plan.sides[baseline_side].plan =
      sitting_.executor.plan(pairing.baseline.trial.configuration, pairing.prepared_baseline, order);
  plan.sides[baseline_side].slice_steps = steps.baseline;
  plan.sides[candidate_side].plan =
      sitting_.executor.plan(pairing.candidate.trial.configuration, pairing.prepared_candidate, order);
  plan.sides[candidate_side].slice_steps = steps.candidate;
  measure::PairControl control;
  control.stop = sitting_.interruption.token();
  measure::PairResult result = sitting_.executor.run_pair(plan, control);
  if (!result.complete()) {
    if (!sitting_.interruption.requested()) {
      for (const space::Run& run : result.runs) {
        if (run.outcome == space::Outcome::Ok || run.outcome == space::Outcome::Killed) continue;
        sitting_.observer.note(fmt::format("pair {}: {}: {}", index, space::to_text(run.outcome), run.reason));
      }
    }
    return false;
  }
  const std::string fingerprint = sitting_.fingerprint.identity();
  db::PairRecord record{.index = index,
                        .first = candidate_first ? db::Side::Candidate : db::Side::Baseline,
                        .candidate_trial = pairing.candidate.id,
                        .baseline_trial = pairing.baseline.id,
                        .candidate = {.run = std::move(result.runs[candidate_side]), .fingerprint = fingerprint},
                        .baseline = {.run = std::move(result.runs[baseline_side]), .fingerprint = fingerprint},
                        .slices = stored_slices(result, candidate_first)};
  if (auto added = sitting_.store.add_pair(pairing.comparison, record); !added) return std::unexpected(added.error());
  return true;
}

db::Expected<std::optional<measure::Comparison>> Finals::judge(const Pairing& pairing) {
  const auto known = sitting_.store.comparisons(sitting_.campaign);
  if (!known) return std::unexpected(known.error());
  const auto stored = std::ranges::find(*known, pairing.comparison, &db::StoredComparison::id);
  if (stored == known->end()) return std::optional<measure::Comparison>{};

  const std::vector<double>& horizons = sitting_.spec.objective.epochs;
  std::vector<std::vector<double>> ratios(horizons.size());
  for (const db::StoredPair& pair : stored->pairs) {
    const auto baseline = sitting_.store.load_run(pair.baseline_run);
    if (!baseline) return std::unexpected(baseline.error());
    const auto candidate = sitting_.store.load_run(pair.candidate_run);
    if (!candidate) return std::unexpected(candidate.error());
    const std::vector<double> baseline_slices = slice_seconds(pair, db::Side::Baseline);
    const std::vector<double> candidate_slices = slice_seconds(pair, db::Side::Candidate);
    const auto ratio = measure::log_ratios({.run = baseline->record.run,
                                            .schedule = pairing.prepared_baseline.schedule,
                                            .slices = baseline_slices},
                                           {.run = candidate->record.run,
                                            .schedule = pairing.prepared_candidate.schedule,
                                            .slices = candidate_slices},
                                           horizons);
    if (!ratio) {
      sitting_.observer.note(fmt::format("pair {} cannot be judged: {}", pair.index, ratio.error()));
      continue;
    }
    for (std::size_t horizon = 0; horizon < horizons.size(); ++horizon) ratios[horizon].push_back((*ratio)[horizon]);
  }

  std::optional<measure::Comparison> primary;
  for (std::size_t horizon = 0; horizon < horizons.size(); ++horizon) {
    if (ratios[horizon].size() < 2) continue;  // no interval yet
    const measure::Comparison comparison = measure::compare(ratios[horizon]);
    const bool is_primary = horizons[horizon] == sitting_.spec.objective.primary;
    const db::VerdictRecord verdict{.comparison = pairing.comparison,
                                    .horizon_epochs = horizons[horizon],
                                    .primary = is_primary,
                                    .verdict = std::string(verdict_word(comparison.verdict)),
                                    .log_ratio_mean = -comparison.log_ratio,
                                    .log_ratio_low = -std::log1p(comparison.high_percent / 100),
                                    .log_ratio_high = -std::log1p(comparison.low_percent / 100),
                                    .pairs = comparison.pairs};
    if (auto saved = sitting_.store.save_verdict(verdict); !saved) return std::unexpected(saved.error());
    if (is_primary) primary = comparison;
  }
  return primary;
}

db::Expected<bool> Finals::accuracy(const db::StoredTrial& trial, const std::string& who) {
  const std::int64_t epochs = sitting_.spec.verify.accuracy_epochs;
  const auto detail = sitting_.store.load_trial(trial.id);
  if (!detail) return std::unexpected(detail.error());
  for (const db::StoredRun& stored : detail->runs) {
    const space::Run& run = stored.record.run;
    if (run.purpose == space::Purpose::Gate && run.accuracy && std::ssize(run.epochs) == epochs) return true;
  }
  if (sitting_.interruption.requested()) return false;
  const auto prepared = prepare(trial);
  if (!prepared) return false;
  const auto slot = sitting_.take_slot();
  if (!slot) return false;
  sitting_.observer.training(who, epochs);
  // Three times what it should take: the deadline is for hangs, not for a busy minute.
  const double expected = space::total_time(*trial.trial.parts, static_cast<double>(epochs));
  const auto deadline = std::max<std::chrono::nanoseconds>(
      sitting_.spec.run.deadline, std::chrono::nanoseconds(static_cast<std::int64_t>(3e9 * expected + 30e9)));
  const RunOrder order{.purpose = space::Purpose::Gate,
                       .epochs = epochs,
                       .accuracy = true,
                       .seed = sitting_.spec.run.seed,
                       .deadline = deadline};
  const measure::RunPlan plan = sitting_.executor.plan(trial.trial.configuration, *prepared, order);
  measure::RunControl control;
  control.stop = sitting_.interruption.token();
  control.progress = [this](const measure::RunProgress& progress) { sitting_.observer.progress(progress); };
  const db::RunRecord record{.run = sitting_.executor.run(plan, control),
                             .fingerprint = sitting_.fingerprint.identity()};
  if (auto added = sitting_.store.add_run(trial.id, record); !added) return std::unexpected(added.error());
  sitting_.observer.trained(who, record.run);
  return record.run.outcome == space::Outcome::Ok;
}

}  // namespace nocturne::tuner
