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

// The other way of space_folder.hpp: a recorded space as space.json and results.csv.gz, so that it can be shared.

/// The contents of the two files.
struct SpaceFolder {
  std::string description;  ///< space.json, a parameter a line
  std::string results;      ///< results.csv.gz; the same rows give the same bytes
};

/// Parameters keep their values, stage, unit and sentence. The rows alone say what is valid: constraints of the source
/// are written for readers, as what is not exact. Single times are kept, so is what a row cost.
/// REQUIRES: no parameters were added (RecordedSpace::with_dummies()), no parameter has a real range.
[[nodiscard]] SpaceFolder write_space_folder(const RecordedSpace& recorded);

/// Both files in a folder named after the space, inside `folder`. The error is a sentence. REQUIRES: as above.
[[nodiscard]] std::expected<void, std::string> save_space_folder(const RecordedSpace& recorded,
                                                                 const std::filesystem::path& folder);

}  // namespace nocturne::search::replay
