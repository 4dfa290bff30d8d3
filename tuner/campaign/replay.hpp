#pragma once

/// Brings a strategy to where an earlier session left it. Strategies are never stored; their conversation is.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "db/records.hpp"
#include "search/strategy.hpp"

namespace nocturne::tuner {

/// What is left to do of an earlier session.
struct Replayed {
  std::vector<db::Asked> pending;  ///< asked and not told, by number: they come first
  std::vector<space::Trial> told;  ///< the latest tell of each trial, by number
  /// Answers of the strategy that were not what it answered then: its code changed. The stored ones count.
  std::int64_t deviations = 0;
};

/// Repeats asks and tells in their order. Asks of another strategy or seed are not repeated, their trials only told.
[[nodiscard]] Replayed replay(std::span<const db::Exchange> exchanges, search::Strategy& strategy,
                              const std::string& name, std::int64_t seed);

}  // namespace nocturne::tuner
