#pragma once

/// The packages of an installed environment as files, for a node without a network: wheels (built where the index has
/// only sources), packages of the distribution, or the built library itself.

#include <filesystem>
#include <optional>
#include <stop_token>

#include "measure/environment/environment_store.hpp"

namespace nocturne::measure {

/// Why an environment cannot be handed on, a sentence: it takes packages from this machine. Empty: it can.
[[nodiscard]] std::string bound_to_machine(const Environment& environment, const EnvironmentRecipe& recipe);

/// Fills `folder`, which is made: the files that `InstallOptions::wheels` installs from, or of a library its include/,
/// lib/ and share/. `temporary` is for the programs' own files; their output is appended to `log`. Needs the indexes
/// that the environment was installed from. One line of progress.
[[nodiscard]] std::optional<EnvironmentFailure> collect_packages(
    const Environment& environment, const EnvironmentRecipe& recipe, const InstallOptions& options,
    const std::filesystem::path& folder, const std::filesystem::path& temporary, const std::stop_token& stop = {});

}  // namespace nocturne::measure
