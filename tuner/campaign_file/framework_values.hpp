#pragma once

/// The frameworks that a campaign file chooses, by its worker and its parameter `framework`: are they names of workers
/// or recipes, and can this machine have them?

#include <string>
#include <vector>

#include "space/configuration.hpp"
#include "space/space.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/campaign_file/checks.hpp"
#include "tuner/installation/frameworks.hpp"

namespace nocturne::tuner {

struct FrameworkValues {
  std::vector<UnavailableFramework> unavailable;  ///< which values this machine cannot have, in their order
  std::vector<RecipeAnswer> answers;              ///< of each value and each value of `source` that has a recipe
};

/// An unknown name is a problem, and so is a default that cannot be had: there would be nothing to compare with. Where
/// `source` is a parameter, a value of `framework` may also be what recipes answer beside their names ("pytorch").
[[nodiscard]] FrameworkValues read_framework_values(Checks& checks, const WorkerChoice& worker,
                                                    const Frameworks& frameworks);

/// "pytorch-1.4"; "pytorch from distribution, opt-build".
[[nodiscard]] std::string text_of(const UnavailableFramework& framework);

/// Leaves one out of the space. Being a constraint it is part of what makes two campaigns the same: where the machine
/// has more one day, a new generation begins, which measures only what is new.
[[nodiscard]] space::ConstraintSpec constraint_against(const UnavailableFramework& framework);

/// What trains a configuration: the recipe that `choice` names, or with "auto" the value of `framework` (absent:
/// onednn), and where that comes from several sources the recipe of the one that `source` names.
[[nodiscard]] std::string framework_of(const WorkerChoice& choice, const space::Configuration& configuration);

/// All that a campaign may train with: the values of its parameter `framework`, their recipes where `source` is a
/// parameter, or what it names.
[[nodiscard]] std::vector<std::string> wanted_frameworks(const CampaignSpec& spec);

}  // namespace nocturne::tuner
