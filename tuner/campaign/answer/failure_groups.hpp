#pragma once

/// What went wrong with the trials of a campaign, as findings.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "db/records.hpp"
#include "space/outcome.hpp"

namespace nocturne::tuner {

/// Trials that failed in the same way for the same reason.
struct FailureGroup {
  space::Outcome outcome;
  std::string reason;
  std::vector<std::int64_t> trials;  ///< their numbers, in the order given; at least one
};

/// In the order of the first of each. Pure.
[[nodiscard]] std::vector<FailureGroup> grouped(std::span<const db::StoredTrial> failures);

}  // namespace nocturne::tuner
