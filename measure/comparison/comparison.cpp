#include "measure/comparison/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <chrono>
#include <cmath>
#include <limits>

#include "measure/comparison/node_scatter.hpp"
#include "measure/comparison/planned_looks.hpp"
#include "measure/comparison/signed_rank.hpp"
#include "space/moments.hpp"
#include "space/names.hpp"

namespace nocturne::measure {
namespace {

constexpr std::array<std::string_view, 4> kVerdicts = {"faster", "slower", "same", "undecided"};

double to_percent(double log_ratio) {
  return 100 * std::expm1(log_ratio);
}

/// Trimmed mean of ln(a_i / b_i) over the slices both sides have, behind the longer warm-up of the two.
std::expected<double, std::string> paired_step_ratio(std::span<const double> a, std::span<const double> b) {
  // Two processes timed as a whole: there is one ratio, and only further pairs say how sure it is.
  if (a.size() == 1 && b.size() == 1 && a[0] > 0 && b[0] > 0) return std::log(a[0] / b[0]);
  const std::size_t common = std::min(a.size(), b.size());
  const std::size_t skipped = std::max(detect_warm_up(a).samples, detect_warm_up(b).samples);
  if (common < skipped + 2) {
    return std::unexpected(
        fmt::format("the pair has {} and {} slices, {} of them warm-up: at least two common steady slices are needed",
                    a.size(), b.size(), skipped));
  }
  std::vector<double> ratios;
  for (std::size_t i = skipped; i < common; ++i) {
    if (!(a[i] > 0) || !(b[i] > 0)) return std::unexpected("a slice of the pair took no time: its clock is broken");
    ratios.push_back(std::log(a[i] / b[i]));
  }
  return trimmed_mean(ratios);
}

void leave_out_epoch_end(RunSummary& summary) {
  if (!summary.epoch_end) return;
  summary.parts.first_step_excess -= summary.epoch_end->first;
  summary.parts.epoch_overhead -= summary.epoch_end->each;
  summary.epoch_end.reset();
}

/// Where the log ratio lies.
struct LogRatio {
  double middle = 0, low = 0, high = 0;
  double error = 0;  ///< standard error of middle
};

LogRatio by_student(double mean, double error, int count, double confidence) {
  const double half = student_critical(count, confidence) * error;
  return {.middle = mean, .low = mean - half, .high = mean + half, .error = error};
}

/// By signed ranks, or by Student's t. REQUIRES: two pairs at least.
LogRatio log_ratio_of(std::span<const double> log_ratios, double confidence) {
  if (log_ratios.size() >= kFewestRanked) {
    if (const auto ranked = signed_rank_interval(log_ratios, confidence)) {
      const double error = (ranked->high - ranked->low) / 2 / normal_critical(confidence);
      return {.middle = ranked->middle, .low = ranked->low, .high = ranked->high, .error = error};
    }
  }
  const space::Moments moments = space::moments_of(log_ratios);
  return by_student(moments.mean, moments.standard_error(), static_cast<int>(moments.count), confidence);
}

}  // namespace

std::string_view to_text(Verdict verdict) {
  return space::name_of(verdict, kVerdicts);
}

std::vector<double> slice_seconds(std::span<const Slice> slices, Side side) {
  std::vector<double> seconds;
  for (const Slice& slice : slices) {
    if (slice.side != side || slice.samples.empty()) continue;
    std::int64_t steps = 0;
    std::chrono::nanoseconds wall{};
    for (const space::Sample& sample : slice.samples) {
      steps += sample.steps;
      wall += sample.wall;
    }
    seconds.push_back(std::chrono::duration<double>(wall).count() /
                      static_cast<double>(std::max<std::int64_t>(1, steps)));
  }
  return seconds;
}

std::expected<std::vector<double>, std::string> log_ratios(const PairResult& pair, const Schedule& baseline,
                                                           const Schedule& candidate, std::span<const double> epochs) {
  if (!pair.complete()) {
    const space::Run& culprit = pair.runs[pair.runs[0].outcome == space::Outcome::Ok ? 1 : 0];
    return std::unexpected(fmt::format("the pair is incomplete: one side ended as {} ({})",
                                       space::to_text(culprit.outcome), culprit.reason));
  }
  const std::vector<double> a = slice_seconds(pair.slices, Side::A);
  const std::vector<double> b = slice_seconds(pair.slices, Side::B);
  const auto parts = pair_parts(ComparedRun{pair.runs[0], baseline, a}, ComparedRun{pair.runs[1], candidate, b});
  if (!parts) return std::unexpected(parts.error());
  std::vector<double> ratios;
  for (const double horizon : epochs) ratios.push_back(log_ratio(*parts, horizon));
  return ratios;
}

std::expected<PairParts, std::string> pair_parts(const ComparedRun& baseline, const ComparedRun& candidate) {
  auto a = summarise(baseline.run, baseline.schedule);
  if (!a) return std::unexpected("baseline: " + a.error());
  auto b = summarise(candidate.run, candidate.schedule);
  if (!b) return std::unexpected("candidate: " + b.error());
  const auto ratio = paired_step_ratio(baseline.slices, candidate.slices);
  if (!ratio) return std::unexpected(ratio.error());
  // What is known of one side alone would be held against it.
  if (!a->epoch_end) leave_out_epoch_end(*b);
  if (!b->epoch_end) leave_out_epoch_end(*a);

  // Both steps keep their geometric mean and take the paired ratio, so neither side is favoured.
  PairParts pair{.baseline = a->parts, .candidate = b->parts};
  const double middle = std::sqrt(a->parts.steady_step * b->parts.steady_step);
  pair.baseline.steady_step = middle * std::exp(*ratio / 2);
  pair.candidate.steady_step = middle * std::exp(-*ratio / 2);
  return pair;
}

double log_ratio(const PairParts& pair, double epochs) {
  return std::log(space::total_time(pair.baseline, epochs) / space::total_time(pair.candidate, epochs));
}

Verdict verdict_of(double low, double high, double margin_percent) {
  const double margin = std::log1p(margin_percent / 100);
  if (low >= -margin && high <= margin) return Verdict::Same;
  if (low > 0) return Verdict::Faster;
  if (high < 0) return Verdict::Slower;
  return Verdict::Undecided;
}

Comparison compare(std::span<const double> log_ratios, const ComparisonOptions& options) {
  assert(options.margin_percent >= 0 && options.confidence > 0 && options.confidence < 1);
  Comparison result;
  result.pairs = static_cast<int>(log_ratios.size());
  result.low_percent = -100;
  result.high_percent = std::numeric_limits<double>::infinity();
  if (log_ratios.size() == 1) result.log_ratio = log_ratios.front();
  result.gain_percent = to_percent(result.log_ratio);
  if (log_ratios.size() < 2) return result;
  const NodeScatter scatter = scatter_of_nodes(log_ratios, options.nodes);
  result.nodes = scatter.nodes;
  result.over_nodes = scatter.over_nodes();
  result.differs_by_node = scatter.differs();
  const LogRatio judged = result.over_nodes ? by_student(scatter.mean, scatter.error, scatter.nodes, options.confidence)
                                            : log_ratio_of(log_ratios, options.confidence);
  result.log_ratio = judged.middle;
  result.gain_percent = to_percent(judged.middle);
  result.low_percent = to_percent(judged.low);
  result.high_percent = to_percent(judged.high);
  result.standard_error = judged.error;
  result.verdict = verdict_of(judged.low, judged.high, options.margin_percent);
  return result;
}

}  // namespace nocturne::measure
