#pragma once

/// What all trials of a campaign together say of the time of each. Pure.
///
/// The smallest of many single times is small by chance, too. What the other trials say of a configuration (the
/// campaign's model, fitted without that one trial) and what its own processes measured are two answers with errors of
/// their own; the belief is their weighted mean. How far configurations lie from what the model says of them is learnt
/// from those left out, less the between-process spread: where the model explains little, a trial's own time counts;
/// where processes differ by more than configurations do, the model's. A time that is far from what was expected of it
/// counts less, as of Student's t distribution with four degrees of freedom.

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "db/records.hpp"
#include "search/model/linear_model.hpp"
#include "space/lattice.hpp"
#include "space/space.hpp"

namespace nocturne::tuner {

/// Of the logarithm of a configuration's time.
struct Belief {
  double log_time = 0;
  double error = 0;  ///< standard deviation, above 0
};

/// What each trial's configuration takes, by trial. Empty: it did not end well. `process_sd`: standard deviation of the
/// log of one process, by chance.
[[nodiscard]] std::vector<std::optional<Belief>> believed_times(const space::Space& space,
                                                                std::span<const db::StoredTrial> trials,
                                                                double process_sd);

/// The model of the times of those trials that ended well, fitted. The lattice outlives it.
[[nodiscard]] search::model::LinearModel model_of_times(space::Lattice& lattice,
                                                        const search::model::LinearModelOptions& options,
                                                        std::span<const db::StoredTrial> trials);

}  // namespace nocturne::tuner
