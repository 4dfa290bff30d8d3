#pragma once

/// Studies of Optuna in its SQLite storage: tables studies, study_directions, trials, trial_params, trial_values.

#include <expected>
#include <filesystem>
#include <string>

#include "search/replay/recorded_space.hpp"

namespace nocturne::tuner {

/// Whether it is a SQLite file.
[[nodiscard]] bool is_database(const std::filesystem::path& file);
/// Whether it is a SQLite file of Optuna's.
[[nodiscard]] bool holds_studies(const std::filesystem::path& file);

/// The study of that name (empty: the only one) as a recorded space: complete trials are ok, failed ones failed, others
/// (pruned, running) are left out, as is one that lacks a parameter of the first. Values of a parameter are those that
/// occur. The error is a sentence: no such study, several objectives, larger values are better.
[[nodiscard]] std::expected<search::replay::RecordedSpace, std::string> recorded_study(
    const std::filesystem::path& file, const std::string& name);

}  // namespace nocturne::tuner
