#pragma once

/// A pair of workers whose time is known only when they have ended: they run one after the other.

#include "measure/comparison/pair.hpp"

namespace nocturne::measure {

/// Side A, then side B, each to its end; the caller swaps them from pair to pair. All samples of a side are its one
/// slice. A side that fails leaves the other unmeasured, with that failure as its reason.
[[nodiscard]] PairResult run_pair_whole(const PairPlan& plan, const PairControl& control);

}  // namespace nocturne::measure
