#pragma once

/// What a replay found, as tables and as JSON: the scoreboard of the strategies, and how far the predictions of `auto`
/// came true.

#include <span>

#include <nlohmann/json.hpp>

#include "search/replay/calibration_table.hpp"
#include "search/replay/replay.hpp"
#include "search/replay/scoreboard.hpp"
#include "tuner/cli/context.hpp"

namespace nocturne::cli {

struct CalibrationPage {
  std::span<const search::replay::RecordedSpace> spaces;
  const search::replay::ReplayOptions& options;
  const search::replay::CalibrationTable& table;
};

void print_calibration(const Context& context, const CalibrationPage& page);
[[nodiscard]] nlohmann::json calibration_json(const CalibrationPage& page);

struct ScoreboardPage {
  std::span<const search::replay::RecordedSpace> spaces;
  const search::replay::ReplayOptions& options;
  const search::replay::Scoreboard& board;
  std::size_t dummies = 0;
};

void print_scoreboard(const Context& context, const ScoreboardPage& page);
[[nodiscard]] nlohmann::json scoreboard_json(const ScoreboardPage& page);

}  // namespace nocturne::cli
