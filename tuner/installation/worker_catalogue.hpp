#pragma once

/// Which of our own workers there are. Add one to the list in worker_catalogue.cpp. Frameworks in environments of their
/// own stand in frameworks.hpp.

#include <span>
#include <string_view>

namespace nocturne::tuner {

/// A worker that is built from sources of ours, by Nocturne under the flags of a configuration, or with it.
struct WorkerRecipe {
  std::string_view name;        ///< the value of the parameter `framework` it belongs to
  std::string_view build_file;  ///< below the source root (measure/artifact/recipe.hpp)
  std::string_view explanation;
  std::string_view program = {};  ///< built with Nocturne, not by it (shipped_worker.hpp): there is no build file then
};

[[nodiscard]] std::span<const WorkerRecipe> worker_recipes();

/// nullptr: none of ours has this name.
[[nodiscard]] const WorkerRecipe* find_worker(std::string_view name);

}  // namespace nocturne::tuner
