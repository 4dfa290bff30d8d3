#include "tuner/campaign/finals/stored_pairs.hpp"

#include <cmath>
#include <map>
#include <ranges>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "measure/comparison/noise.hpp"
#include "tuner/campaign/trial_runner.hpp"

namespace nocturne::tuner {
namespace {

/// Seconds per step of each slice of one side, in order.
std::vector<double> slice_seconds(std::span<const db::Slice> slices, db::Side side) {
  std::vector<double> seconds;
  for (const db::Slice& slice : slices) {
    if (slice.side != side || slice.steps == 0) continue;
    seconds.push_back(static_cast<double>(slice.wall_ns) * 1e-9 / static_cast<double>(slice.steps));
  }
  return seconds;
}

/// What a side is judged by: its slices, or the one number that stands for the process.
std::vector<double> judged(std::span<const db::Slice> slices, db::Side side, const space::Run& run,
                           measure::StepEstimator estimator) {
  if (estimator == measure::StepEstimator::Paired) return slice_seconds(slices, side);
  const auto step = measure::judged_step(measure::step_seconds(run), estimator);
  return step ? std::vector{*step} : std::vector<double>();
}

}  // namespace

std::optional<db::StoredComparison> find_comparison(const db::Store& store, db::CampaignId campaign,
                                                    std::string_view role, const space::Configuration& baseline,
                                                    const space::Configuration& candidate) {
  auto comparisons = store.comparisons(campaign);
  for (db::StoredComparison& each : comparisons | std::views::reverse)
    if (each.record.role == role && each.record.candidate == candidate && each.record.baseline == baseline)
      return std::move(each);
  return std::nullopt;
}

StoredPairs stored_pairs(const db::Store& store, const db::StoredComparison& comparison,
                         const measure::Schedule& baseline, const measure::Schedule& candidate) {
  StoredPairs result;
  const auto estimator =
      measure::step_estimator_from_text(comparison.record.estimator).value_or(measure::StepEstimator::Paired);
  std::map<std::string, std::string> hosts;  // by fingerprint
  for (const db::StoredPair& pair : comparison.pairs) {
    const auto baseline_run = store.load_run(pair.baseline_run);
    const auto candidate_run = store.load_run(pair.candidate_run);
    std::vector<db::Slice> slices;
    if (estimator == measure::StepEstimator::Paired) slices = store.slices(comparison.id, pair.index);
    const std::vector<double> baseline_slices = judged(slices, db::Side::Baseline, baseline_run.record.run, estimator);
    const std::vector<double> candidate_slices =
        judged(slices, db::Side::Candidate, candidate_run.record.run, estimator);
    const auto parts =
        measure::pair_parts({.run = baseline_run.record.run, .schedule = baseline, .slices = baseline_slices},
                            {.run = candidate_run.record.run, .schedule = candidate, .slices = candidate_slices});
    if (!parts) {
      result.unusable.push_back(fmt::format("pair {} cannot be judged: {}", pair.index, parts.error()));
      continue;
    }
    result.pairs.push_back(*parts);
    const auto [host, is_new] = hosts.try_emplace(pair.fingerprint);
    if (is_new) host->second = host_of(store, pair.fingerprint);
    result.nodes.push_back(host->second);
  }
  return result;
}

std::vector<double> log_ratios_at(const StoredPairs& stored, double epochs) {
  std::vector<double> ratios;
  for (const measure::PairParts& pair : stored.pairs) ratios.push_back(measure::log_ratio(pair, epochs));
  return ratios;
}

measure::Comparison compare_at(const StoredPairs& stored, double epochs, double margin_percent, double confidence) {
  return measure::compare(log_ratios_at(stored, epochs),
                          {.margin_percent = margin_percent, .confidence = confidence, .nodes = stored.nodes});
}

double look_confidence(std::int64_t pairs, const measure::ComparisonPolicy& policy) {
  return measure::confidence_after(pairs, measure::plan_looks(policy.pairs, policy.most_pairs));
}

db::VerdictRecord verdict_record(const measure::Comparison& comparison, db::ComparisonId id, double epochs) {
  return {.comparison = id,
          .horizon_epochs = epochs,
          .verdict = std::string(measure::to_text(comparison.verdict)),
          .log_ratio_mean = -comparison.log_ratio,
          .log_ratio_low = -std::log1p(comparison.high_percent / 100),
          .log_ratio_high = -std::log1p(comparison.low_percent / 100),
          .confidence = kStatedConfidence,
          .pairs = comparison.pairs};
}

std::optional<db::VerdictRecord> verdict_at(const StoredPairs& stored, db::ComparisonId comparison, double epochs,
                                            const measure::ComparisonPolicy& policy) {
  if (stored.pairs.size() < 2) return std::nullopt;
  const double confidence = look_confidence(std::ssize(stored.pairs), policy);
  return verdict_record(compare_at(stored, epochs, policy.margin_percent, confidence), comparison, epochs);
}

}  // namespace nocturne::tuner
