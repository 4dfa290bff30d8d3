#pragma once

/// Makes one environment in a folder: venv, packages of pip or of the distribution, or a library from its source;
/// fix-ups, a first import. Knows nothing of the store.

#include <chrono>
#include <expected>
#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "measure/environment/environment_store.hpp"

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

}  // namespace nocturne::measure
