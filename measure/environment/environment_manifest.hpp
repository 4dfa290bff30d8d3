#pragma once

/// manifest.json of an installed environment: what it was made of, and when.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "measure/environment/environment_store.hpp"

namespace nocturne::measure {

/// The part of a recipe that decides what gets installed: where it differs, an environment is another one.
[[nodiscard]] nlohmann::json installed_part(const EnvironmentRecipe& recipe);

/// Contents of the recipe's fix-ups (and of the modules they share, whose names begin with _), by name. The error names
/// the file that is not there.
[[nodiscard]] std::expected<nlohmann::json, std::string> fix_up_digests(const EnvironmentRecipe& recipe,
                                                                        const std::filesystem::path& folder);

/// The key of an environment.
[[nodiscard]] std::string environment_key(const EnvironmentRecipe& recipe, const nlohmann::json& fix_ups,
                                          const std::vector<std::string>& lock, const std::string& abi);

/// Writes FOLDER/manifest.json. False where it cannot be written in full.
[[nodiscard]] bool write_manifest(const std::filesystem::path& folder, const Environment& environment,
                                  const EnvironmentRecipe& recipe, const nlohmann::json& fix_ups);

struct InstalledEnvironment {
  Environment environment;
  nlohmann::json recipe;  ///< its installed_part() then
  nlohmann::json fix_ups;
};
/// Empty where the manifest is missing or torn, or the environment has a Python that can no longer be started.
[[nodiscard]] std::optional<InstalledEnvironment> read_manifest_of(const std::filesystem::path& folder);

}  // namespace nocturne::measure
