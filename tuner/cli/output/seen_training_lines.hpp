#pragma once

/// The first screen of `nocturne tune -- COMMAND`: what was understood of the training, and of its files.

#include <optional>
#include <string>

#include "tuner/own_command/probe_run.hpp"

namespace nocturne::cli {

/// Lines for a terminal of 80 columns; empty where the module in front of the command saw nothing. `epochs`:
/// that it trains, by --epochs; `trial_seconds`: about what a trial takes; `budget_seconds`: of the whole
/// campaign, 0 where nobody gave one.
[[nodiscard]] std::string seen_training_text(const tuner::CommandProbe& seen, std::optional<double> epochs,
                                             double trial_seconds, double budget_seconds);

/// Names of files that were written outside of the folder, a line each, at most ten.
[[nodiscard]] std::string outside_text(const tuner::WrittenFiles& files);

}  // namespace nocturne::cli
