#pragma once

/// Workers of ours that are built with Nocturne, not by it: their speed is in a library and a device, and compilers'
/// flags are no parameter of theirs.

#include <filesystem>
#include <string>
#include <string_view>

#include "tuner/installation/worker_catalogue.hpp"

namespace nocturne::tuner {

/// The recipe of that name where its worker is of this kind; null: it is not, or there is none.
[[nodiscard]] const WorkerRecipe* find_shipped_worker(std::string_view name);

/// The program: what NOCTURNE_CUDNN_PROGRAM names (for nocturne-cudnn; a build of its own elsewhere), else beside this
/// program. Empty: it is not there.
[[nodiscard]] std::filesystem::path find_shipped(const WorkerRecipe& worker);

/// Whether the system shows an NVIDIA GPU below `root`: the driver's devices, or a GPU handed into a container.
[[nodiscard]] bool sees_gpu(const std::filesystem::path& root = "/");

/// Why this machine cannot have it, a sentence; empty: nothing is known against it, or it is none of this kind.
[[nodiscard]] std::string shipped_obstacle(const WorkerRecipe& worker);

}  // namespace nocturne::tuner
