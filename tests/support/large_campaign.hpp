#pragma once

/// Fills a database with a campaign of any size, for tests of what reading costs: the parameters of examples/mnist.json
/// on an imagined machine of 64 cores, and times that its configurations would plausibly take.

#include <cstddef>
#include <cstdint>

#include "db/store.hpp"

namespace nocturne::test {

struct LargeCampaign {
  std::size_t trials = 1000;
  std::int64_t samples = 24;  ///< each run has so many; a trial has one run
  bool failures = true;       ///< one trial in 25 crashes
};

/// Through the store, as `tune` does: ask, reserve, finish with a run. One trial in twenty is an audit, and the best
/// has a verdict. The same on every machine and at every call, but for the times at which it was written.
/// Throws db::Error.
db::CampaignSummary fill(db::Store& store, const LargeCampaign& options);

}  // namespace nocturne::test
