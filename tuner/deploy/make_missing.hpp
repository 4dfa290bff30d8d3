#pragma once

/// What a profile's training needs and this machine lacks, made before it is applied: the environment with the very
/// versions that were measured, or our own worker built with the flags that were.

#include <expected>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tuner/deploy/profile.hpp"
#include "tuner/installation/frameworks.hpp"
#include "tuner/installation/installation.hpp"

namespace nocturne::deploy {

struct MakingPlaces {
  const tuner::Frameworks& frameworks;
  tuner::Installation installation;
  std::filesystem::path builds_folder;
  std::function<void(std::string_view)> progress;  ///< a line a step; may be empty
};

struct MakingFailure {
  std::string reason;  ///< a sentence
  std::string log_tail{};
  bool interrupted = false;
};

[[nodiscard]] inline std::unexpected<MakingFailure> cannot_make(std::string reason) {
  return std::unexpected(MakingFailure{.reason = std::move(reason)});
}

/// A recipe's environment or library, found or installed.
[[nodiscard]] std::expected<measure::Environment, MakingFailure> obtain_environment(
    const tuner::Frameworks& frameworks, const measure::EnvironmentRecipe& recipe, const measure::PythonPlaces& pythons,
    const measure::InstallOptions& options, const std::stop_token& stop);

/// "the environment pytorch-2.15", "the build of onednn"; empty: all is there, or the profile does not say how it was
/// made.
[[nodiscard]] std::string missing_part(const Profile& profile, const MakingPlaces& places);

/// Makes it, and lets the profile name what was made. The sentences returned say in what it differs from what was
/// measured.
[[nodiscard]] std::expected<std::vector<std::string>, MakingFailure> make_missing(Profile& profile,
                                                                                  const MakingPlaces& places,
                                                                                  const std::stop_token& stop = {});

/// Lets the profile name this environment of its recipe: program, worker, variables, key.
void use_environment(Profile& profile, const measure::Environment& environment,
                     const measure::EnvironmentRecipe& recipe, const std::filesystem::path& worker_folder);

}  // namespace nocturne::deploy
