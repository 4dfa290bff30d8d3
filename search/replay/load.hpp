#pragma once

/// Recorded spaces from files, whatever their format; all of it foreign input.
///
///   a folder with space.json          published spaces in one format, with results.csv.gz or results.csv
///   a folder of such folders          all of them, by name
///   {"cache": {…}}                    a cache file of Kernel Tuner, also one that was never closed
///   {"results": […]}                  T4 results, as Kernel Tuner writes them
///   {"results": [{"command", …}]}     what hyperfine exports as JSON
///   {"ConfigurationSpace": …}         a T1 problem; the file named after it holds its T4 results or its cache
///
/// Files may be gzip. Nothing in them is executed; expressions are parsed by space/expression/expression.hpp.

#include <expected>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "search/replay/recorded_space.hpp"

namespace nocturne::search::replay {

/// Error: a sentence with file, place and what was found there. Also where two spaces have one name.
[[nodiscard]] std::expected<std::vector<RecordedSpace>, std::string> load(std::span<const std::filesystem::path> paths);

}  // namespace nocturne::search::replay
