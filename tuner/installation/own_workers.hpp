#pragma once

/// Our own workers: which there are (add one to the list in own_workers.cpp), and where those lie that are built with
/// Nocturne, not by it: their speed is in a library and a device, and compilers' flags are no parameter of theirs.
/// Frameworks in environments of their own stand in frameworks.hpp.

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace nocturne::tuner {

/// A worker that is built from sources of ours, by Nocturne under the flags of a configuration, or with it.
struct WorkerRecipe {
  std::string_view name;        ///< the value of the parameter `framework` it belongs to
  std::string_view build_file;  ///< below the source root (measure/artifact/recipe.hpp)
  std::string_view explanation;
  std::string_view program = {};  ///< built with Nocturne, not by it: there is no build file then
};

[[nodiscard]] std::span<const WorkerRecipe> worker_recipes();

/// nullptr: none of ours has this name.
[[nodiscard]] const WorkerRecipe* find_worker(std::string_view name);

/// The recipe of that name where its worker is of this kind; null: it is not, or there is none.
[[nodiscard]] const WorkerRecipe* find_shipped_worker(std::string_view name);

/// The program: what NOCTURNE_CUDNN_PROGRAM names (for nocturne-cudnn; a build of its own elsewhere), else beside this
/// program. Empty: it is not there.
[[nodiscard]] std::filesystem::path find_shipped(const WorkerRecipe& worker);

/// Our worker for the CPU as it came along (NOCTURNE_ONEDNN_PROGRAM, or beside this program): it trains where there is
/// no compiler. Empty: it is not there.
[[nodiscard]] std::filesystem::path program_that_came_along();
[[nodiscard]] inline bool came_along() {
  return !program_that_came_along().empty();
}

/// Whether the system shows an NVIDIA GPU below `root`: the driver's devices, or a GPU handed into a container.
[[nodiscard]] bool sees_gpu(const std::filesystem::path& root = "/");

/// Why this machine cannot have it, a sentence; empty: nothing is known against it.
[[nodiscard]] std::string worker_obstacle(const WorkerRecipe& worker);

}  // namespace nocturne::tuner
