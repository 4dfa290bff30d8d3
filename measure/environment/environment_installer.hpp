#pragma once

/// Makes one environment in a folder: venv, packages of pip or of the distribution, or a library from its source;
/// fix-ups, a first import. Knows nothing of the store.

#include <chrono>
#include <expected>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "measure/environment/environment_store.hpp"
#include "measure/environment/python_finder.hpp"
#include "measure/environment/recipe.hpp"

namespace nocturne::measure {

struct InstallPlaces {
  std::filesystem::path folder;     ///< folder of the environment; not there yet
  std::filesystem::path temporary;  ///< for the installer's own files, on the same disk; removed by the caller
  std::filesystem::path downloads;  ///< what was downloaded; survives a failure
  std::filesystem::path log;        ///< all output is appended
};

/// Returns the resolved versions, ascending, as a lock has them (requirement.hpp). The failure's sentence begins with
/// the recipe's name. `python` is not looked at where the recipe needs none.
[[nodiscard]] std::expected<std::vector<std::string>, EnvironmentFailure> install_environment(
    const EnvironmentRecipe& recipe, const PythonInterpreter& python, const InstallOptions& options,
    const InstallPlaces& places, const std::stop_token& stop);

// The packages of an installed environment as files, for a node without a network: wheels (built where the index has
// only sources), packages of the distribution, or the built library itself.

/// Why an environment cannot be handed on, a sentence: it takes packages from this machine. Empty: it can.
[[nodiscard]] std::string bound_to_machine(const Environment& environment, const EnvironmentRecipe& recipe);

/// Fills `folder`, which is made: the files that `InstallOptions::wheels` installs from, or of a library its include/,
/// lib/ and share/. `temporary` is for the programs' own files; their output is appended to `log`. Needs the indexes
/// that the environment was installed from. One line of progress.
[[nodiscard]] std::optional<EnvironmentFailure> collect_packages(
    const Environment& environment, const EnvironmentRecipe& recipe, const InstallOptions& options,
    const std::filesystem::path& folder, const std::filesystem::path& temporary, const std::stop_token& stop = {});

// Which Python an environment is made with, by what its recipe wants of it.

/// Whether the modules that the recipe imports are there already: outside any environment, or in one of the user's.
[[nodiscard]] bool has_modules(const PythonInterpreter& python, const EnvironmentRecipe& recipe);

/// The newest that satisfies; of the distribution, the distribution's own; where packages that are there already are to
/// be used, a virtual environment of the user's or the newest Python that has them, if there is one. The error is a
/// sentence with what is there and how to get one that does. A recipe that needs no Python gets none: an empty one.
[[nodiscard]] std::expected<PythonInterpreter, std::string> python_for(const EnvironmentRecipe& recipe,
                                                                       const PythonPlaces& places);

}  // namespace nocturne::measure
