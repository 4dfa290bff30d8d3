#pragma once

/// Is the candidate faster than the baseline, by how much, and how sure is that? From pairs of fresh processes that
/// were alive together and measured in alternating slices. Pure.
///
/// The unit of repetition is the pair: per pair one log ratio
///
///     r = ln T_baseline(N) − ln T_candidate(N),
///
/// where both T are composed of the pair's own parts, per epoch and not per step, so that different batch sizes compare
/// fairly. Drift of the machine cancels, because the steady steps of a pair enter by the paired ratio: the trimmed mean
/// over i of ln(a_i / b_i) of neighbouring slices. The r of pairs have heavy tails, which a mean and its interval pay
/// for. So from kFewestRanked pairs on the gain is the middle of their signed ranks, with its exact interval
/// (signed_rank.hpp); with fewer, or where so few cannot be that sure by their ranks, the mean with Student's t. Pairs
/// of three nodes or more whose gain is not the same on each are judged by the mean over nodes (node_scatter.hpp).

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "measure/comparison/pair.hpp"
#include "measure/comparison/statistics.hpp"
#include "space/run.hpp"

namespace nocturne::measure {

enum class Verdict {
  Faster,     ///< the whole interval says so
  Slower,     ///< likewise
  Same,       ///< the whole interval lies within ± margin
  Undecided,  ///< more pairs are needed
};
[[nodiscard]] std::string_view to_text(Verdict verdict);  ///< faster, slower, same, undecided

/// One process of a pair.
struct ComparedRun {
  const space::Run& run;  ///< outcome Ok, its samples in order
  Schedule schedule;
  std::span<const double> slices;  ///< seconds per step of each of its slices, in order
};

/// Both sides of one pair, condensed: the parts of T(N) with the steady steps bound by the paired ratio.
struct PairParts {
  space::Parts baseline, candidate;
};

/// Slice i of one side is compared with slice i of the other. The error is a sentence (a run without samples, too few
/// common slices).
[[nodiscard]] std::expected<PairParts, std::string> pair_parts(const ComparedRun& baseline,
                                                               const ComparedRun& candidate);

/// ln(T_baseline / T_candidate) at a horizon: positive where the candidate is faster.
[[nodiscard]] double log_ratio(const PairParts& pair, double epochs);

/// Likewise of a measured pair: side A is the baseline, side B the candidate. An incomplete pair is an error.
[[nodiscard]] std::expected<std::vector<double>, std::string> log_ratios(const PairResult& pair,
                                                                         const Schedule& baseline,
                                                                         const Schedule& candidate,
                                                                         std::span<const double> epochs);

/// Seconds per step of each slice of one side, in order.
[[nodiscard]] std::vector<double> slice_seconds(std::span<const Slice> slices, Side side);

struct Comparison {
  Verdict verdict = Verdict::Undecided;
  int pairs = 0;
  double gain_percent = 0;  ///< 100 · (T_baseline / T_candidate − 1): 100 means twice as fast
  double low_percent = 0;   ///< interval of gain_percent; −100 and infinity with fewer than two pairs
  double high_percent = 0;
  double log_ratio = 0;          ///< where the gain is: middle or mean over the pairs
  double standard_error = 0;     ///< of log_ratio; of a middle by the width of its interval
  int nodes = 1;                 ///< on which the pairs were measured
  bool over_nodes = false;       ///< the interval is that of the mean over nodes
  bool differs_by_node = false;  ///< nodes scatter by more than noise
};

/// Fewer pairs than this are judged by their mean.
inline constexpr std::size_t kFewestRanked = 8;

struct ComparisonOptions {
  double margin_percent = 1;  ///< closer than this is the same, practically
  double confidence = 0.95;
  std::span<const std::string> nodes{};  ///< name of the node of each pair; empty: one machine measured all
};

/// What an interval of ln(T_baseline / T_candidate) says. REQUIRES: low ≤ high, margin_percent ≥ 0.
[[nodiscard]] Verdict verdict_of(double low, double high, double margin_percent);

/// REQUIRES: margin_percent ≥ 0, 0 < confidence < 1; nodes are empty, or as many as log ratios.
[[nodiscard]] Comparison compare(std::span<const double> log_ratios, const ComparisonOptions& options = {});

}  // namespace nocturne::measure
