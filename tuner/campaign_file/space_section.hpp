#pragma once

/// The section `space` of a campaign file.

#include <optional>
#include <span>

#include "space/facts.hpp"
#include "space/space.hpp"
#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/campaign_file/checks.hpp"

namespace nocturne::tuner {

/// Empty where anything of the section has a problem; then `checks` has them all. A parameter that the schema refused
/// is left out, and so is every expression that mentions it, so that one mistake is not reported twice. What is
/// unavailable is left out of the space, by constraints behind those of the file.
[[nodiscard]] std::optional<space::Space> read_space(Checks& checks, const space::Facts& facts,
                                                     const WorkerChoice& worker,
                                                     std::span<const UnavailableFramework> unavailable);

}  // namespace nocturne::tuner
