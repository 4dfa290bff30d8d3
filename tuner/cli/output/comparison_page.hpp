#pragma once

/// Configurations in columns: what they are, what is known of each, and how much faster than the first.

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "db/records.hpp"
#include "space/objective.hpp"
#include "tuner/campaign/answer/stored_gain.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/report/side_facts.hpp"

namespace nocturne::cli {

struct ComparedSide {
  std::string word;  ///< as the user wrote it
  report::SideFacts facts;
  std::optional<tuner::StoredGain> gain;  ///< against the first; empty for the first itself
  std::string no_gain;                    ///< why there is none, a few words; empty: the first
};

struct ComparisonPage {
  db::CampaignSummary campaign;
  space::Objective objective;
  std::vector<ComparedSide> sides;  ///< the first is the reference
};

void print_comparison(const Context& context, const ComparisonPage& page);
/// README.md of tuner/cli describes its keys.
[[nodiscard]] nlohmann::json comparison_json(const ComparisonPage& page);

/// "+12.3 % (95 %: +10.1 to +14.5 %), 6 pairs"
[[nodiscard]] std::string gain_text(const tuner::StoredGain& gain);
/// null where there is none.
[[nodiscard]] nlohmann::json gain_json(const std::optional<tuner::StoredGain>& gain);

}  // namespace nocturne::cli
