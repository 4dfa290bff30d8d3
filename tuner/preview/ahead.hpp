#pragma once

/// What a campaign has ahead, all of it: for `nocturne space`, and for `nocturne tune --dry-run`.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "db/store.hpp"
#include "space/fingerprint.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/installation/frameworks.hpp"
#include "tuner/preview/forecast.hpp"
#include "tuner/preview/survey.hpp"

namespace nocturne::tuner {

struct Ahead {
  Survey survey;
  Costs costs;
  EnvironmentsAhead environments;
  Forecast forecast{};
  std::optional<std::chrono::nanoseconds> length;  ///< planned_length()
};

/// `store`: what was measured before; null: nothing.
[[nodiscard]] Ahead look_ahead(const CampaignSpec& spec, const Frameworks& frameworks, const db::Store* store,
                               const space::Fingerprint& fingerprint, std::chrono::system_clock::time_point now);

/// One thing that `tune` would do.
struct PlannedStep {
  std::string what;                 ///< "install", "search", … one word
  std::string detail;               ///< a clause: what of it
  std::optional<double> seconds{};  ///< empty: not known, or until the budget's end
};

/// What a session would begin with.
struct KnownCampaign {
  std::int64_t finished = 0, pending = 0;  ///< trials of this very campaign
  bool complete = false;                   ///< it was completed before
  bool noise_known = false, figures_known = false;
};
[[nodiscard]] KnownCampaign known_campaign_of(const CampaignSpec& spec, const db::Store* store,
                                              const space::Fingerprint& fingerprint);

/// The steps in their order: figures of the machine and its noise, preflight, installation, default, coverage trials,
/// search, finals. Pure. None: it was completed before.
[[nodiscard]] std::vector<PlannedStep> plan_of(const CampaignSpec& spec, const Ahead& ahead,
                                               const KnownCampaign& known);

}  // namespace nocturne::tuner
