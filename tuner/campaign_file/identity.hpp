#pragma once

/// What makes two campaigns the same.

#include <string>

#include "space/facts.hpp"
#include "tuner/campaign_file/campaign_file.hpp"

namespace nocturne::tuner {

/// CampaignSpec::identity_json: see there. Facts that no expression names are left out, so that a machine with more
/// memory goes on with a campaign that never asked for its memory.
[[nodiscard]] std::string identity_json(const space::Workload& workload, const space::Objective& objective,
                                        const space::Space& space, const WorkerChoice& worker,
                                        const space::Facts& facts);

}  // namespace nocturne::tuner
