#pragma once

/// The levels of a parameter by the best measured with each, as lines of a page and as JSON.

#include <nlohmann/json.hpp>

#include "db/records.hpp"
#include "tuner/campaign/answer/ranking.hpp"
#include "tuner/cli/context.hpp"

namespace nocturne::cli {

/// A table under the heading "Ranking", on context.out; says what an order of single trials is worth, and the command
/// that measures the first of them in pairs, until there are pairs. "±" is a standard error in per cent.
void print_ranking(const Context& context, const db::CampaignSummary& campaign, const tuner::Ranking& ranking);

/// README.md of tuner/cli describes its keys.
[[nodiscard]] nlohmann::json ranking_json(const tuner::Ranking& ranking);

}  // namespace nocturne::cli
