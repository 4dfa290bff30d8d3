#pragma once

/// The smallest change that wins: of the settings in which a winner differs from the default, most do nothing; they
/// were carried along. Pure; the model proposes, measuring disposes.

#include <functional>
#include <vector>

#include "space/configuration.hpp"
#include "space/space.hpp"

namespace nocturne::tuner {

/// ln T of a configuration as the model predicts it.
using PredictedLogTime = std::function<double(const space::Configuration&)>;

/// Valid configurations on the way from the winner to the default, each with fewer changes than the one before: the
/// setting that is predicted to cost least is put back first, as long as the prediction stays within `margin_percent`
/// of the winner's. Neither the winner nor the default is among them; empty: every setting matters.
[[nodiscard]] std::vector<space::Configuration> simplify(const space::Space& space, const space::Configuration& winner,
                                                         const space::Configuration& baseline,
                                                         const PredictedLogTime& predicted, double margin_percent);

}  // namespace nocturne::tuner
