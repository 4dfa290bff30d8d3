#pragma once

/// What a preflight has to try: the software stacks of a space, and the configurations in which each is tried. Pure.

#include <cstddef>
#include <string>
#include <vector>

#include "space/space.hpp"

namespace nocturne::tuner {

/// A set of values of the environment and build parameters that some valid configuration has.
struct PreflightStack {
  space::Configuration values;
  /// The default with these values, its batch as large as the space allows, then smaller ones; at least one. Where a
  /// batch range is long, each is at most half of the one before.
  std::vector<space::Configuration> ladder;
};

struct PreflightStacks {
  /// The default's first, then those in which values occur for the first time.
  std::vector<PreflightStack> stacks;
  std::string left_out;  ///< a sentence; empty: these are all
};

inline constexpr std::size_t kMostPreflightStacks = 64;

/// All software stacks; where there are more than `most`, some in which each value of each environment and build
/// parameter occurs. A software stack that only a combination of later parameters makes valid, that neither the
/// default's values nor those of a thousand drawn configurations are, is missed.
[[nodiscard]] PreflightStacks preflight_stacks(const space::Space& space, std::size_t most = kMostPreflightStacks);

}  // namespace nocturne::tuner
