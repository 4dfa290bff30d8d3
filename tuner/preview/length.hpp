#pragma once

/// How long a campaign will last, roughly and at once: whether somebody will still be there.

#include <chrono>
#include <optional>

#include "db/store.hpp"
#include "tuner/campaign_file/campaign_file.hpp"

namespace nocturne::tuner {

/// A campaign above this ends when nobody looks any more.
inline constexpr std::chrono::minutes kWatched{30};

/// What its budget of time allows; without one a forecast from its trials, each build counted once. Empty: without end.
[[nodiscard]] std::optional<std::chrono::nanoseconds> planned_length(const CampaignSpec& spec, const db::Store& store,
                                                                     std::chrono::system_clock::time_point now);

}  // namespace nocturne::tuner
