#pragma once

/// What is registered on this machine, as subcommands see it.

#include <vector>

#include "measure/container/image_recipe.hpp"
#include "tuner/cli/context.hpp"
#include "tuner/registry/registry.hpp"

namespace nocturne::cli {

/// The shipped files and the user's, which take precedence. Files that are left out are said on context.err.
[[nodiscard]] tuner::Registry registry_here(const Context& context);

/// Recipes of images, the user's and the shipped ones; of those that were made here `folder` is where.
[[nodiscard]] std::vector<measure::ImageRecipe> image_recipes_here(const Context& context);

}  // namespace nocturne::cli
