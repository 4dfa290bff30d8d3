#pragma once

/// Which frameworks a campaign file chooses, by its worker and its parameter `framework`.

#include <string>
#include <vector>

#include "space/configuration.hpp"
#include "tuner/campaign_file/campaign_file.hpp"

namespace nocturne::tuner {

/// What trains a configuration: the recipe that `choice` names, or with "auto" the value of `framework` (absent:
/// onednn).
[[nodiscard]] std::string framework_of(const WorkerChoice& choice, const space::Configuration& configuration);

/// All that a campaign may train with: the values of its parameter `framework`, or what it names.
[[nodiscard]] std::vector<std::string> wanted_frameworks(const CampaignSpec& spec);

}  // namespace nocturne::tuner
