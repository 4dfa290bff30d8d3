#pragma once

/// The format of published spaces: a folder with space.json (parameters, constraints) and results.csv.gz (one row a
/// configuration: values, objective, status, perhaps what it cost and its single times).

#include <expected>
#include <filesystem>
#include <string>

#include "search/replay/recorded_space.hpp"

namespace nocturne::search::replay {

/// Where space.json says that its constraints are not exact, the rows alone are valid.
[[nodiscard]] std::expected<RecordedSpace, std::string> load_space_folder(const std::filesystem::path& folder);

}  // namespace nocturne::search::replay
