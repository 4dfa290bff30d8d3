#pragma once

/// How many samples at the start of a run are not yet steady: detected, not assumed. Pure.
///
/// Method: MSER (K. P. White Jr., "An effective truncation heuristic for bias reduction in simulation output",
/// Simulation 69(6), 1997; MSER-5 in White, Cobb, Spratt, Winter Simulation Conference 2000). The truncation point d
/// minimises the squared standard error of the mean of what is left,
///
///     g(d) = 1/(n-d)² · Σ_{i ≥ d} (y_i − ȳ_d)²,   0 ≤ d ≤ n/2,
///
/// over means y of m = 5 neighbouring samples from 50 samples on, over the samples themselves below. Three changes for
/// step times, which are few and spiked:
/// - each sample is first replaced by the median of itself and its neighbours (the two ends stay): else one preempted
///   step in the middle would move the truncation point behind it; a level that lasts passes this filter;
/// - from that d it walks back over values within the scatter of the second half (3 sigma, or 0.1 %): the minimum of
/// g is
///   flat, and its place behind the warm-up is chance;
/// - d is taken only if the dropped samples' median is off the rest's by more than the rest's scatter, else plain MSER
///   throws away a random share of samples that were steady from the start.

#include <cstddef>
#include <span>

namespace nocturne::measure {

struct WarmUp {
  std::size_t samples = 0;  ///< to drop at the start; at most half
  bool settled = true;      ///< false: the best truncation is at the limit, so the series may not be steady yet
  friend bool operator==(const WarmUp&, const WarmUp&) = default;
};

/// `step_times` in the order measured, any unit. Fewer than 6: nothing is dropped, settled is false.
[[nodiscard]] WarmUp detect_warm_up(std::span<const double> step_times);

}  // namespace nocturne::measure
