#pragma once

/// What a replay found of the claims of `auto`, as tables and as JSON.

#include <span>

#include <nlohmann/json.hpp>

#include "search/replay/calibration_table.hpp"
#include "search/replay/replay.hpp"
#include "tuner/cli/context.hpp"

namespace nocturne::cli {

struct CalibrationPage {
  std::span<const search::replay::RecordedSpace> spaces;
  const search::replay::ReplayOptions& options;
  const search::replay::CalibrationTable& table;
};

void print_calibration(const Context& context, const CalibrationPage& page);
[[nodiscard]] nlohmann::json calibration_json(const CalibrationPage& page);

}  // namespace nocturne::cli
