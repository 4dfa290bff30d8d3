#pragma once

/// How a worker in Python is started in its environment: interpreter, file, variables; and which program that is.

#include <expected>
#include <filesystem>
#include <string>
#include <vector>

#include "measure/environment/environment_store.hpp"
#include "measure/run/launch.hpp"

namespace nocturne::tuner {

/// The worker's file and everything below `folder` that it imports, packages whole; ascending, absolute. The error is a
/// sentence: no such worker.
[[nodiscard]] std::expected<std::vector<std::filesystem::path>, std::string> python_worker_files(
    const std::filesystem::path& folder, const std::string& worker);

/// Identity of the program: the environment's key and the contents of the worker's files. 64 hexadecimal digits.
[[nodiscard]] std::expected<std::string, std::string> python_worker_digest(const measure::Environment& environment,
                                                                           const std::filesystem::path& folder,
                                                                           const std::string& worker);

/// The settings with the recipe's variables, over which they win, for the environment in this folder, and without what
/// a caller's shell may say to Python or to a framework: that would be measured and stored nowhere.
[[nodiscard]] measure::LaunchSettings python_launch(const measure::EnvironmentRecipe& recipe,
                                                    measure::LaunchSettings settings,
                                                    const std::filesystem::path& environment = {});

/// The interpreter and the worker's file.
[[nodiscard]] std::vector<std::string> python_arguments(const measure::Environment& environment,
                                                        const std::filesystem::path& folder, const std::string& worker);

}  // namespace nocturne::tuner
