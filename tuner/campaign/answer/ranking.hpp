#pragma once

/// The levels of one parameter in order of the best that was measured with each: which framework, which container.
///
/// An order of single trials is no verdict: machines drift between them. Pairs decide (`compare --measure`), and where
/// there are any of a level's best and the first level's, they stand beside it.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "db/store.hpp"
#include "space/configuration.hpp"
#include "space/value.hpp"
#include "tuner/campaign/answer/default_settings.hpp"
#include "tuner/campaign/answer/stored_gain.hpp"

namespace nocturne::tuner {

struct RankedLevel {
  space::Value level;
  std::optional<db::StoredTrial> best{};  ///< that trained, at the horizon asked for; empty: none did
  double seconds = 0;                     ///< predicted or measured time of the level's best, for that horizon
  double standard_error = 0;         ///< standard error of `seconds`, from the runs of that trial alone; 0: not known
  space::Configuration settings{};   ///< settings that the default does not have, without the parameter itself
  std::optional<StoredGain> gain{};  ///< its gain over the first level's best, from pairs; empty: no pairs
  std::int64_t trained = 0, failed = 0;  ///< trials with this level
  std::string reason{};                  ///< why the first that failed did; empty where one trained
};

struct Ranking {
  std::string parameter;
  std::vector<RankedLevel> levels{};  ///< fastest first, then those that failed, then those not tried
  DefaultSettings defaults{};
};

/// The parameter named, or, where none is, the first of stage environment that has at least two levels. Empty: the
/// document of a campaign has no such parameter.
[[nodiscard]] std::optional<std::string> ranked_parameter(const nlohmann::json& document, std::string_view wanted);

/// `measured`: what the campaign's trials came to by level of this parameter, at this horizon. Levels that only trials
/// know (of an earlier edit of the file) count as well; trials where the parameter is inactive do not. Levels that tie
/// are in the order of the document. With settings (against `baseline`, trial 0), standard errors (at the campaign's
/// primary horizon) and gains.
[[nodiscard]] Ranking rank(const nlohmann::json& document, const std::string& parameter,
                           std::span<const db::LevelSummary> measured, const std::optional<db::StoredTrial>& baseline,
                           const std::vector<db::StoredComparison>& comparisons, double epochs);

/// The ranking of a stored campaign. Empty: ranked_parameter() is.
[[nodiscard]] std::optional<Ranking> stored_ranking(const db::Store& store, const db::CampaignSummary& campaign,
                                                    std::string_view wanted,
                                                    const std::vector<db::StoredComparison>& comparisons,
                                                    double epochs);

}  // namespace nocturne::tuner
