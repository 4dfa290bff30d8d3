#pragma once

/// Makes a configuration valid that the user, or a rule, changed in one place. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "space/configuration.hpp"
#include "space/space.hpp"

namespace nocturne::tuner {

/// So many values of a long range are tried.
inline constexpr std::uint64_t kMostFittingValues = 64;

/// `configuration` (normalised) where it is valid; else with one parameter that is not in `kept` at another value: the
/// first, at the first of its values, with which all constraints hold. Empty: there is none.
[[nodiscard]] std::optional<space::Configuration> fitted(const space::Space& space,
                                                         const space::Configuration& configuration,
                                                         const std::vector<std::string>& kept);

}  // namespace nocturne::tuner
