#pragma once

/// Trials of past campaigns as points of the present space.

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "search/registry.hpp"
#include "space/configuration.hpp"
#include "space/lattice.hpp"
#include "space/objective.hpp"

namespace nocturne::search::history {

/// What a past campaign measured, or that it failed.
struct PastTrial {
  std::vector<space::Level> point;
  std::optional<double> log_value{};  ///< value of the present objective; empty: failed
  std::optional<space::Parts> parts{};
};

/// The same measurement in the present space: every value is one of it, nothing is missing or left over, all
/// constraints hold. Else empty: what was not written down then (a parameter that is new) is not known.
[[nodiscard]] std::optional<std::vector<space::Level>> same_point(space::Lattice& lattice,
                                                                  const space::Configuration& configuration);

/// The nearest thing the present space has, for what only ranks: numbers are rounded to the nearest level, parameters
/// that were not there count as the default, those that are no more do not count. Empty: a word that is not known here.
[[nodiscard]] std::optional<std::vector<space::Level>> nearest_point(const space::Lattice& lattice,
                                                                     const space::Configuration& configuration);

/// Log of the present objective: composed of the parts where there are any and the objective has horizons, else the
/// estimate as it was told. Empty: failed.
[[nodiscard]] std::optional<double> log_value_of(const space::Trial& trial, const space::Objective& objective);

/// At most `most` trials, half of them the fastest, the others spread over the rest by time.
/// Where two are of one point, the first counts. Failed ones come last, half of `most` again at most.
[[nodiscard]] std::vector<PastTrial> thinned(std::vector<PastTrial> trials, std::size_t most);

/// Trials of earlier campaigns on this machine and workload, in the order of the history; thinned. Trials that ran out
/// of memory are left to the memory model if the batch size is known.
[[nodiscard]] std::vector<PastTrial> same_trials(space::Lattice& lattice, const Options& options, std::size_t most);

}  // namespace nocturne::search::history
