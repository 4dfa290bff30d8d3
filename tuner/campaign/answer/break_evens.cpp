#include "tuner/campaign/answer/break_evens.hpp"

#include <algorithm>

#include "tuner/campaign/finals/stored_pairs.hpp"
#include "tuner/campaign/stored_document.hpp"

namespace nocturne::tuner {

std::vector<TrialBreakEven> stored_break_evens(const db::Store& store, const db::CampaignSummary& campaign,
                                               std::span<const db::StoredTrial> trials) {
  const auto comparisons = store.comparisons(campaign.id);
  const space::Workload workload = workload_of(campaign.spec);
  const auto number_of = [&](const space::Configuration& configuration) -> std::int64_t {
    const auto found = std::ranges::find_if(
        trials, [&](const db::StoredTrial& each) { return each.trial.configuration == configuration; });
    return found == trials.end() ? -1 : found->trial.number;
  };
  std::vector<TrialBreakEven> result;
  for (const db::StoredComparison& comparison : comparisons) {
    TrialBreakEven found{.baseline = number_of(comparison.record.baseline),
                         .candidate = number_of(comparison.record.candidate)};
    if (found.baseline < 0 || found.candidate < 0) continue;
    const auto baseline =
        measure::schedule_of(workload, comparison.record.baseline, 128, protocol::PartialBatch::Train);
    const auto candidate =
        measure::schedule_of(workload, comparison.record.candidate, 128, protocol::PartialBatch::Train);
    if (!baseline || !candidate) continue;
    const auto stored = stored_pairs(store, comparison, *baseline, *candidate);
    if (stored.pairs.size() < 2) continue;
    found.pairs = std::ssize(stored.pairs);
    found.confidence = kStatedConfidence;
    found.result = measure::break_even(stored.pairs, look_confidence(found.pairs, sections_of(campaign.spec).verify));
    result.push_back(found);
  }
  return result;
}

}  // namespace nocturne::tuner
