#pragma once

/// Which Python an environment is made with, by what its recipe wants of it.

#include <expected>
#include <string>

#include "measure/environment/python_finder.hpp"
#include "measure/environment/recipe.hpp"

namespace nocturne::measure {

/// Whether the modules that the recipe imports are there already, outside any environment.
[[nodiscard]] bool has_modules(const PythonInterpreter& python, const EnvironmentRecipe& recipe);

/// The newest that satisfies; of the distribution, the distribution's own; where the machine's packages are to be used,
/// the newest that has them, if one has. The error is a sentence with what is there and how to get one that does. A
/// recipe that needs no Python gets none: an empty one.
[[nodiscard]] std::expected<PythonInterpreter, std::string> python_for(const EnvironmentRecipe& recipe,
                                                                       const PythonPlaces& places);

}  // namespace nocturne::measure
