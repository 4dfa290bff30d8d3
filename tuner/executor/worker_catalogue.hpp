#pragma once

/// Which program trains a configuration. Add a worker to the list in worker_catalogue.cpp.

#include <expected>
#include <span>
#include <string>
#include <string_view>

#include "space/configuration.hpp"
#include "tuner/campaign_file.hpp"

namespace nocturne::tuner {

/// A worker that is built from sources of ours.
struct WorkerRecipe {
  std::string_view name;        ///< the value of the parameter `framework` it belongs to
  std::string_view build_file;  ///< below the source root (measure/artifact_recipe.hpp)
  std::string_view explanation;
};

[[nodiscard]] std::span<const WorkerRecipe> worker_recipes();

/// The recipe that `choice` names, or with "auto" the one of the configuration's `framework` (absent: onednn).
/// The error is a sentence with the known names.
[[nodiscard]] std::expected<WorkerRecipe, std::string> find_worker(const WorkerChoice& choice,
                                                                   const space::Configuration& configuration);

}  // namespace nocturne::tuner
