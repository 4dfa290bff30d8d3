#pragma once

/// One pair of fresh processes by each way of measuring: taking turns, one after the other, or side by side.
///
/// Which way tells most in the same time is a property of the machine (noise_plan.hpp). Side by side (a *duet*; Bulej
/// et al., Duet Benchmarking, ICPE 2020) both suffer from the same neighbours at the same moments, so what disturbs
/// them cancels; it needs configurations that leave half of the CPUs free, and the halves are swapped from pair to
/// pair.

#include <chrono>
#include <vector>

#include "measure/comparison/noise.hpp"
#include "measure/comparison/pair.hpp"
#include "tuner/executor/executor.hpp"

namespace nocturne::tuner {

/// How long a pair may last, waiting included, whose sides have these deadlines: each of them counts only while its
/// side has its turn.
[[nodiscard]] std::chrono::milliseconds longest_pair(std::chrono::milliseconds one, std::chrono::milliseconds other);

/// Measures `plan` in that way; sides[0] is the one that starts first. Sequential and Duet train `slice_steps` ·
/// `slices` steps a side without turns, and each side is one slice. In a duet side 0 has the lower half of `cpus`, or
/// with `swapped` the upper one. Blocks. REQUIRES: a duet has two CPUs or more.
[[nodiscard]] measure::PairResult measure_pair(Executor& executor, measure::PairPlan plan, measure::PairMethod method,
                                               const std::vector<int>& cpus, bool swapped,
                                               const measure::PairControl& control);

}  // namespace nocturne::tuner
