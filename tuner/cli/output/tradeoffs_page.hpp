#pragma once

/// What `pareto` prints: the best for each wish, the front, who is fastest for how many epochs, and break-evens.

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tuner/campaign/answer/default_settings.hpp"
#include "tuner/campaign/answer/tradeoffs.hpp"
#include "tuner/cli/context.hpp"

namespace nocturne::cli {

struct TradeoffsPage {
  db::CampaignSummary campaign;
  tuner::DefaultSettings defaults;
  std::vector<tuner::Wish> wishes;
  tuner::Tradeoffs tradeoffs;
  std::vector<db::StoredTrial> trials;  ///< what `reigns` counts in
  std::vector<tuner::Reign> reigns;
  std::vector<tuner::TrialBreakEven> break_evens;
};

void print_tradeoffs(const Context& context, const TradeoffsPage& page);
/// README.md of tuner/cli describes its keys.
[[nodiscard]] nlohmann::json tradeoffs_json(const TradeoffsPage& page);

/// "trial 3 is faster from 2.1 epochs on (95 %: 1.8 to 2.6; 6 pairs)": who leads when, and how sure that is.
[[nodiscard]] std::string break_even_sentence(const tuner::TrialBreakEven& each);

}  // namespace nocturne::cli
