#pragma once

/// What a replay found, as tables and as JSON: the scoreboard of the strategies, and how far the predictions of `auto`
/// came true.

#include <cstddef>
#include <span>
#include <string>

#include <nlohmann/json.hpp>

#include "search/replay/calibration_table.hpp"
#include "search/replay/replay.hpp"
#include "search/replay/scoreboard.hpp"
#include "search/replay/slots.hpp"
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

struct SlotsPage {
  std::span<const std::string> strategies;
  std::span<const search::replay::SlotsRow> rows;
  std::size_t evaluations = 0, spaces = 0;
};

void print_slots(const Context& context, const SlotsPage& page);

void print_scoreboard(const Context& context, const ScoreboardPage& page);
[[nodiscard]] nlohmann::json scoreboard_json(const ScoreboardPage& page);

}  // namespace nocturne::cli
