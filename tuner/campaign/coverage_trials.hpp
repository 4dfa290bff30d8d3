#pragma once

/// Each framework and each container once, before the strategy weighs them. Pure.
///
/// A model that has seen nothing of a framework knows only that it costs minutes to install, and would rather spend
/// them on what it knows: a night could end without a word about half of the software stacks. So each value of an
/// environment parameter is tried once, as near to the default as the constraints allow, where that takes a fair share
/// of the budget at most.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "space/space.hpp"

namespace nocturne::tuner {

/// Share of a budget, for all coverage trials together.
inline constexpr double kCoverageShare = 0.2;

/// The name under which they are asked for.
inline constexpr const char* kCoverageAsk = "coverage trial";

struct CoverageTrial {
  std::string parameter;
  space::Value value;
  space::Configuration configuration;  ///< valid
};

/// Whether the configuration has this value.
[[nodiscard]] bool is_part_of(const CoverageTrial& look, const space::Configuration& configuration);

/// One for each value, other than the default's, of each environment parameter that is active in some configuration
/// next to the default; in the order of parameters and values. Values no neighbour of the default can have are left
/// out.
[[nodiscard]] std::vector<CoverageTrial> coverage_trials(const space::Space& space);

/// What coverage trials have taken and what the campaign may take. Empty: not limited in that way.
struct CoveragePace {
  std::int64_t taken = 0;
  std::chrono::nanoseconds spent{};
  std::optional<std::int64_t> trials;
  std::optional<std::chrono::nanoseconds> time;
};

/// Whether another one, which takes about so long with what has to be installed for it, keeps to the share.
[[nodiscard]] bool fits(const CoveragePace& pace, std::chrono::nanoseconds next);

}  // namespace nocturne::tuner
