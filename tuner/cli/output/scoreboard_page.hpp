#pragma once

/// The scoreboard of a replay, as tables and as JSON.

#include <iosfwd>
#include <span>

#include <nlohmann/json.hpp>

#include "search/replay/replay.hpp"
#include "search/replay/scoreboard.hpp"
#include "tuner/cli/context.hpp"

namespace nocturne::cli {

struct ScoreboardPage {
  std::span<const search::replay::RecordedSpace> spaces;
  const search::replay::ReplayOptions& options;
  const search::replay::Scoreboard& board;
  std::size_t dummies = 0;
};

void print_scoreboard(const Context& context, const ScoreboardPage& page);
[[nodiscard]] nlohmann::json scoreboard_json(const ScoreboardPage& page);

}  // namespace nocturne::cli
