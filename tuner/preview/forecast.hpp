#pragma once

/// How long a campaign will take, from what earlier trials took, else from assumptions that are named. No clock.

#include <chrono>
#include <cstdint>
#include <optional>

#include "db/store.hpp"
#include "space/fingerprint.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/preview/survey.hpp"

namespace nocturne::tuner {

/// What is known, or assumed, of the costs.
struct Costs {
  double trial_seconds = 0;
  std::int64_t trials = 0;               ///< measured ones it rests on; 0: assumed
  std::optional<double> step_seconds{};  ///< what was assumed of a step, where the machine's peaks say it
  double build_seconds = 0;
  std::int64_t builds = 0;        ///< likewise
  double finals_seconds = 0;      ///< best and default measured again, and trained for their accuracy
  double install_seconds = 0;     ///< all environments that are to be installed (survey.hpp)
  std::int64_t environments = 0;  ///< frameworks that are installed, not built
};

/// Without a store: all assumed. Trials of the same network and number of steps count, whatever campaign they belong
/// to. `step_seconds`: a first estimate of the default's step, used while nothing was measured.
[[nodiscard]] Costs costs_of(const CampaignSpec& spec, const db::Store* store, std::optional<double> step_seconds = {});

/// That estimate: half of the speed that the machine's peaks allow. Empty: they are not known, nor what the campaign's
/// command computes.
[[nodiscard]] std::optional<double> first_estimate(const CampaignSpec& spec, const db::Store& store,
                                                   const space::Fingerprint& fingerprint);

struct Forecast {
  std::optional<double> everything_seconds;  ///< to try every valid configuration; empty: infinitely many
  std::optional<double> budget_seconds;  ///< what the budget allows, `until_seconds` included; empty: no limit of time
  std::optional<double> trials;          ///< that fit into the budget; empty: no limit
  std::optional<double> seconds;         ///< the campaign as it is planned; empty: infinite
};

/// `until_seconds`: from now to the budget's time of day, where it names one.
[[nodiscard]] Forecast forecast(const CampaignSpec& spec, const Survey& survey, const Costs& costs,
                                std::optional<double> until_seconds);

/// Time of `trials` trials drawn at random: builds are made when first met, so `builds` different ones are met one by
/// one (the mean number met by n draws of b is b·(1 - (1 - 1/b)ⁿ)).
[[nodiscard]] double time_of_trials(double trials, double builds, const Costs& costs);

/// A campaign above this ends when nobody looks any more.
inline constexpr std::chrono::minutes kWatched{30};

/// What a long campaign measures first where it is not known: what the machine could do at best (the disk included),
/// and its noise, for so long at most.
inline constexpr std::chrono::seconds kFiguresTime{20};
inline constexpr std::chrono::minutes kNoiseTime{3};

/// What its budget of time allows; without one a forecast from its trials, each build counted once. Empty: without end.
/// `store`: what was measured before; null: nothing.
[[nodiscard]] std::optional<std::chrono::nanoseconds> planned_length(const CampaignSpec& spec, const db::Store* store,
                                                                     std::chrono::system_clock::time_point now);

}  // namespace nocturne::tuner
