#pragma once

/// Where to begin: points far from each other, so that every parameter shows several of its levels soon.

#include <vector>

#include "search/model/level_kernel.hpp"
#include "space/lattice.hpp"

namespace nocturne::search {

/// Sum of d_i over the parameters (model/level_kernel.hpp).
[[nodiscard]] double distance(const model::LevelKernels& kernels, space::Point a, space::Point b);

/// The number of the candidate that lies farthest from the nearest of `chosen` (Johnson, Moore, Ylvisaker, "Minimax and
/// maximin distance designs", J. Statistical Planning and Inference 26, 1990); where there is none yet, of the most
/// central one: the least sum of squared distances to all candidates. The first of equals.
/// REQUIRES: candidates is not empty.
[[nodiscard]] std::size_t next_spread(const model::LevelKernels& kernels, const space::PointList& chosen,
                                      const space::PointList& candidates);

}  // namespace nocturne::search
