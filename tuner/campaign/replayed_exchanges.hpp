#pragma once

/// Asks and tells as they are stored: a strategy is never serialised, it is brought to where it was by repeating them.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "db/records.hpp"
#include "search/strategy.hpp"
#include "space/trial.hpp"

namespace nocturne::tuner {

/// What is left to do of an earlier session.
struct ReplayedExchanges {
  std::vector<db::AskAnswer> pending;  ///< asked and not told, by number: they come first
  std::vector<space::Trial> told;      ///< the latest tell of each trial, by number
  /// Answers of the strategy that were not what it answered then: its code changed. The stored ones count.
  std::int64_t deviations = 0;
};

/// Brings a strategy to where an earlier session left it: strategies are never stored, asks and tells are. Repeats
/// asks and tells in their order. Asks of another strategy or seed are not repeated, their trials only told.
[[nodiscard]] ReplayedExchanges replay_exchanges(std::span<const db::Exchange> exchanges, search::Strategy& strategy,
                                                 const std::string& name, std::int64_t seed);

/// A proposal as it is stored.
[[nodiscard]] db::AskAnswer numbered(search::Proposal proposal, std::int64_t number);

}  // namespace nocturne::tuner
