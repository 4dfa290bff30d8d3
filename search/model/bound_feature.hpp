#pragma once

/// What could be done at best as a covariate: log(seconds of an example, by operations and peaks).
///
/// An epoch's steps take the number of its examples times that, over the share of the machine that a configuration
/// reaches. The shares differ by parameters, which have effects of their own; what the bound adds is by how much bf16,
/// more threads or a larger batch can change a step here at all. A machine whose figures are known so begins to rank
/// after a few trials.

#include <vector>

#include "search/model/design.hpp"
#include "search/work_bound.hpp"
#include "space/lattice.hpp"

namespace nocturne::search::model {

/// More combinations of levels than this are not tabulated: then there is no feature.
inline constexpr std::size_t kMostBounds = std::size_t{1} << 20;

/// One feature, or none: nothing is known, or none of the parameters is in the space. The lattice must outlive it.
[[nodiscard]] std::vector<Feature> bound_feature(const space::Lattice& lattice, const WorkBound& bound);

}  // namespace nocturne::search::model
