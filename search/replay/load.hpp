#pragma once

/// Recorded spaces from files, whatever their format; all of it foreign input.
///
///   a folder with space.json          our format for published spaces, with results.csv.gz or results.csv
///   a folder of such folders          all of them, by name
///   {"cache": {…}}                    a cache file of Kernel Tuner, also one that was never closed
///   {"results": […]}                  Kernel Tuner's T4 results
///   {"ConfigurationSpace": …}         a T1 problem file; its T4 results lie beside it (t1_problem.hpp)
///
/// Files may be gzip. Nothing in them is executed; expressions are parsed by space/expression.hpp.

#include <expected>
#include <filesystem>
#include <string>
#include <vector>

#include "search/replay/recorded_space.hpp"

namespace nocturne::search::replay {

/// Error: a sentence with file, place and what was found there. Never empty.
[[nodiscard]] std::expected<std::vector<RecordedSpace>, std::string> load(const std::filesystem::path& path);

}  // namespace nocturne::search::replay
