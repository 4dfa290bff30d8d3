#pragma once

/// The sections of a campaign file but for `space`: from JSON that the schema has checked to structs, with the checks
/// that a schema cannot make. Each adds its problems to `checks`; what has a problem keeps its default.

#include <filesystem>

#include "tuner/campaign_file/campaign_file.hpp"
#include "tuner/campaign_file/checks.hpp"

namespace nocturne::tuner {

/// The folder of the file that `place` names, as the campaign file's own folder and name have it.
[[nodiscard]] std::filesystem::path home_of(const Place& place, const std::filesystem::path& folder,
                                            const std::string& name);

[[nodiscard]] space::Objective read_objective(Checks& checks);
[[nodiscard]] StrategyChoice read_strategy(Checks& checks);
[[nodiscard]] Budget read_budget(Checks& checks);
[[nodiscard]] RunSettings read_run(Checks& checks);
[[nodiscard]] VerifySettings read_verify(Checks& checks);
[[nodiscard]] EnvironmentSettings read_environments(Checks& checks);
/// A command with a slash is made absolute from the folder of the file that names it. `folder` is that of the campaign
/// file, `name` what problems call it.
/// `frameworks`: what a recipe can name.
[[nodiscard]] WorkerChoice read_worker(Checks& checks, const std::filesystem::path& folder, const std::string& name,
                                       const Frameworks& frameworks);

/// All of them, and what follows from one for another.
[[nodiscard]] CampaignSections read_sections(Checks& checks, const std::filesystem::path& folder,
                                             const std::string& name, const Frameworks& frameworks);

}  // namespace nocturne::tuner
