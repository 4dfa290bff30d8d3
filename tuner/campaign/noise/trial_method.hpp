#pragma once

/// Whether the search measures a trial alone, or in turns with a living process of the default: decided by the noise of
/// the machine. Pure.
///
/// Alone, a trial's log time has the variance of processes that run one after the other; in turns that of the log ratio
/// of a pair, and it costs what a pair does. What counts is variance times cost: what a search learns in a given time
/// is as its inverse.

#include <string>

#include "tuner/campaign/noise/noise_floor.hpp"
#include "tuner/campaign_file/campaign_file.hpp"

namespace nocturne::tuner {

/// So many times cheaper must turns be. The finals meet in pairs anyway, so that much of what turns would tell the
/// search they find out where it counts: by nocturne-verdict-survey (examples/README.md) turns that are 3.7 and 6.7
/// times as cheap (the formula, the native worker) find no more for the same processes.
inline constexpr double kWorthTurns = 10;

struct TrialMethodChoice {
  TrialMethod method = TrialMethod::Alone;  ///< never Auto
  double process_sd = 0, pair_sd = 0;       ///< of the log: of a process alone, of the ratio of a pair; 0: not known
  std::string sentence{};                   ///< without full stop; empty: there was nothing to decide
};

/// Chooses by `floor`, where `wanted` leaves it open. REQUIRES: where it is Auto, turns are possible.
[[nodiscard]] TrialMethodChoice choose_trial_method(const NoiseFloor& floor, TrialMethod wanted);

/// Puts the choice into a campaign, and into its document where trials are paired: a campaign that has begun goes on
/// so.
void apply_choice(const TrialMethodChoice& choice, CampaignSpec& spec);

/// A campaign that has begun measures its trials as it began, where the file leaves it open: as `stored`, its document
/// in the database, says.
void keep_trial_method(const nlohmann::json& stored, CampaignSpec& spec);

}  // namespace nocturne::tuner
