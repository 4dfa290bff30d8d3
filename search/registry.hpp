#pragma once

/// The one list of strategies. A new strategy is a file here and a line in registry.cpp.

#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "search/strategy.hpp"
#include "space/space.hpp"

namespace nocturne::search {

/// What every strategy gets.
struct Options {
  std::uint64_t seed = 1;
};

struct StrategyEntry {
  std::string_view name;
  std::string_view description;  ///< one sentence
  /// The strategy keeps a reference to the space.
  std::unique_ptr<Strategy> (*make)(const space::Space& space, const Options& options);
};

/// All strategies, in the order in which they are shown.
[[nodiscard]] std::span<const StrategyEntry> strategies();

/// Error: "unknown strategy 'exhastive', did you mean 'exhaustive'?" and all names.
/// REQUIRES: the space outlives the strategy.
[[nodiscard]] std::expected<std::unique_ptr<Strategy>, std::string> make_strategy(std::string_view name,
                                                                                  const space::Space& space,
                                                                                  const Options& options);

}  // namespace nocturne::search
