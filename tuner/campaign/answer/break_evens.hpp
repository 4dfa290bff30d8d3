#pragma once

/// From how many epochs on one trial beats another, for every two that were compared in pairs.

#include <cstdint>
#include <span>
#include <vector>

#include "db/store.hpp"
#include "measure/comparison/break_even.hpp"

namespace nocturne::tuner {

struct TrialBreakEven {
  std::int64_t baseline = 0, candidate = 0;  ///< numbers of the trials
  std::int64_t pairs = 0;
  double confidence = 0;  ///< confidence of the interval, 0 to 1
  measure::BreakEven result;
};

/// From comparisons between two of `trials` with at least two pairs that can be judged, in the order they were begun.
[[nodiscard]] std::vector<TrialBreakEven> stored_break_evens(const db::Store& store,
                                                             const db::CampaignSummary& campaign,
                                                             std::span<const db::StoredTrial> trials);

}  // namespace nocturne::tuner
