#pragma once

/// Physical covariates: what a training step costs by its batch size and its threads, before anything is measured.
///
/// An epoch of n examples takes n / batch steps of (fixed cost + batch · work / threads) each, so
///
///   log(time of an epoch's steps) = constant + log(1 / threads + r / batch),
///
/// r: the fixed cost in examples that one thread would have done meanwhile. It is not known, so there is a feature for
/// each r of kFixedCosts; the scales of the model choose among them. What an example takes is the same for all
/// configurations of a campaign, or an effect of other parameters: it is in the constant.
///
/// The values of both parameters have main effects of their own beside these, so that a machine that does otherwise
/// (threads that share a core, a batch that leaves the cache) is learnt as before.

#include <vector>

#include "search/model/design.hpp"
#include "search/work_bound.hpp"
#include "space/lattice.hpp"

namespace nocturne::search::model {

// What could be done at best as a covariate: log(seconds of an example, by operations and peaks).
//
// An epoch's steps take the number of its examples times that, over the share of the machine that a configuration
// reaches. The shares differ by parameters, which have effects of their own; what the bound adds is by how much bf16,
// more threads or a larger batch can change a step here at all. A machine whose figures are known so begins to rank
// after a few trials.

/// More combinations of levels than this are not tabulated: then there is no feature.
inline constexpr std::size_t kMostBounds = std::size_t{1} << 20;

/// One feature, or none: nothing is known, or none of the parameters is in the space. The lattice must outlive it.
[[nodiscard]] std::vector<Feature> bound_feature(const space::Lattice& lattice, const WorkBound& bound);

/// Steps of an epoch take from almost no time for themselves to as much as a small batch's work.
inline constexpr double kFixedCosts[] = {2, 8, 32};

/// Features for the time of an epoch's steps, and for the whole time, which is mostly these. Empty if neither parameter
/// is there, is always active, and has positive numbers. With a bound, its feature comes last.
/// The lattice must outlive the features.
[[nodiscard]] std::vector<Feature> step_features(const space::Lattice& lattice, const Roles& roles,
                                                 const WorkBound& bound = {});

/// Features for what precedes the first timed step: buffers and the first step grow with the batch.
[[nodiscard]] std::vector<Feature> startup_features(const space::Lattice& lattice, const Roles& roles);

}  // namespace nocturne::search::model
