#pragma once

/// Past campaigns made of recorded spaces, so that what history is worth can be judged by replay.

#include <cstddef>
#include <cstdint>

#include "search/registry.hpp"
#include "search/replay/recorded_space.hpp"

namespace nocturne::search::replay {

/// A history as if someone had measured so many configurations, drawn uniformly, on another machine: it only ranks.
[[nodiscard]] History sampled_campaign(const RecordedSpace& recorded, std::size_t trials, std::uint64_t seed);

/// A history as if `auto` had run on this very space before, with a seed of its own that follows from `seed`.
[[nodiscard]] History earlier_campaign(const RecordedSpace& recorded, std::size_t trials, std::uint64_t seed);

}  // namespace nocturne::search::replay
