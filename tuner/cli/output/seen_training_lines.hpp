#pragma once

/// The first screen of `nocturne tune -- COMMAND`: what was understood of the training, and of its files.

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "tuner/own_command/probe_run.hpp"

namespace nocturne::cli {

/// What a part of a step's time is called beside the other `shares`. Where nobody waits for a loader it is not known
/// where the forward pass begins: "forward" is all from the step before to the backward then.
[[nodiscard]] std::string step_part_text(std::string_view part, const std::map<std::string, double>& shares);

/// The epochs that a run cuts: "two epochs".
[[nodiscard]] std::string cut_epochs_text(const measure::EpochEnds& cut);

/// Whether a framework was imported, and nothing was trained: the process is timed as a whole.
[[nodiscard]] bool is_without_steps(const tuner::CommandProbe& seen);

/// Lines for a terminal of 80 columns; empty where the module in front of the command saw nothing. `epochs`:
/// that it trains, by --epochs.
[[nodiscard]] std::string seen_training_text(const tuner::CommandProbe& seen, std::optional<double> epochs,
                                             bool outside_is_real = false);

/// What its trials take, and what is measured behind them: seconds, forecast.
struct TrialsAhead {
  double trial = 0;
  double verdict = 0;              ///< the fewest pairs that give one
  std::optional<double> budget{};  ///< of all; empty: no limit of time
  double search = 0;               ///< of the budget, what is left of it for trials
  bool has_room = true;            ///< whether a verdict fits into the budget
  std::chrono::minutes enough{};   ///< a budget into which it fits
};

/// The last line of the screen.
[[nodiscard]] std::string trials_text(const TrialsAhead& ahead);

}  // namespace nocturne::cli
