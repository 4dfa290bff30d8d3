#pragma once

/// How far apart equal programs seem on this machine, by the way in which they are measured, and what it therefore
/// takes to resolve a difference. Pure.
///
/// The unit is the pair of processes: ln(T_a / T_b) of two equal ones. Its standard deviation decides everything: n
/// pairs resolve a difference δ, with error α and power 1 − β, where (t_{1−α/2, n−1} + t_{1−β, n−1}) · sd / √n ≤ δ
/// (the usual formula with Student's t in place of the normal, for few pairs; Chow, Shao & Wang, Sample Size
/// Calculations in Clinical Research, 2008, section 3.1).

#include <optional>
#include <span>
#include <string_view>

namespace nocturne::measure {

enum class PairMethod {
  Sequential,  ///< one process after the other, each alone
  Slices,      ///< both alive, taking turns
  Duet,        ///< both at once, half of the CPUs each (Bulej et al., Duet Benchmarking, ICPE 2020)
};
[[nodiscard]] std::string_view to_text(PairMethod method);  ///< sequential, slices, duet
[[nodiscard]] std::optional<PairMethod> pair_method_from_text(std::string_view text);

/// What a process of a pair is judged by.
enum class StepEstimator {
  Median,   ///< median of the steady steps
  Minimum,  ///< minimum of the steady steps
  Paired,   ///< slices only: trimmed mean of the log ratios of neighbouring slices (comparison.hpp)
};
[[nodiscard]] std::string_view to_text(StepEstimator estimator);  ///< median, minimum, paired
[[nodiscard]] std::optional<StepEstimator> step_estimator_from_text(std::string_view text);

/// Seconds a step that a process is judged by, from its step times in order (warm-up included, and left out here).
/// Empty: there are none. REQUIRES: not Paired.
[[nodiscard]] std::optional<double> judged_step(std::span<const double> step_seconds, StepEstimator estimator);

/// What equal pairs showed.
struct Noise {
  int pairs = 0;
  double sd = 0;    ///< standard deviation of the log ratio of a pair; 0.01 is 1 %
  double bias = 0;  ///< mean log ratio: of equal programs it should be zero; a side that is favoured shows here
};
/// REQUIRES: at least two ratios.
[[nodiscard]] Noise noise_of(std::span<const double> log_ratios);

struct Power {
  double error = 0.05;  ///< two-sided
  double power = 0.8;
};

/// Pairs that resolve `percent`; empty: more than a million.
[[nodiscard]] std::optional<int> pairs_to_resolve(double sd, double percent, const Power& power = {});

/// The resolution of so many pairs, in per cent. REQUIRES: pairs ≥ 2.
[[nodiscard]] double resolution_percent(double sd, int pairs, const Power& power = {});

/// Standard deviation of the log ratio of a pair, from half of a mean's t interval over so many. REQUIRES: pairs ≥ 2.
[[nodiscard]] double sd_of_interval(double half_width, int pairs, double confidence);

}  // namespace nocturne::measure
