#include "search/replay/load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "search/replay/hyperfine.hpp"
#include "search/replay/kernel_tuner.hpp"
#include "search/replay/space_folder.hpp"
#include "search/replay/text_file.hpp"
#include "space/folder_entries.hpp"

namespace nocturne::search::replay {
namespace {

namespace fs = std::filesystem;
using Spaces = std::vector<RecordedSpace>;
using Loaded = std::expected<Spaces, std::string>;

bool is_space_folder(const fs::path& folder) {
  std::error_code error;
  return fs::exists(folder / "space.json", error);
}

Loaded one(std::expected<RecordedSpace, std::string> recorded) {
  if (!recorded) return std::unexpected(std::move(recorded.error()));
  Spaces spaces;
  spaces.push_back(std::move(*recorded));
  return spaces;
}

Loaded load_folder(const fs::path& folder) {
  if (is_space_folder(folder)) return one(load_space_folder(folder));
  std::error_code error;
  std::vector<fs::path> folders;
  for (const fs::directory_entry& entry : space::entries_of(folder, error))
    if (is_space_folder(entry.path())) folders.push_back(entry.path());
  if (error) return std::unexpected(fmt::format("{}: {}", folder.string(), error.message()));
  if (folders.empty()) {
    return std::unexpected(
        fmt::format("{}: neither a space (space.json and results.csv.gz) nor a folder of spaces", folder.string()));
  }
  std::ranges::sort(folders);
  Spaces spaces;
  for (const auto& each : folders) {
    auto recorded = load_space_folder(each);
    if (!recorded) return std::unexpected(recorded.error());
    spaces.push_back(std::move(*recorded));
  }
  return spaces;
}

/// A file, and for a T1 problem the one after it, which `next` then passes.
Loaded load_file(std::span<const fs::path> paths, std::size_t& next) {
  const auto& file = paths[next++];
  const auto document = read_python_json(file);
  if (!document) return std::unexpected(document.error());
  switch (format_of(*document)) {
    case Format::Cache:
      return one(load_cache(*document, file));
    case Format::Results:
      return one(load_results(*document, file));
    case Format::Hyperfine:
      return one(load_hyperfine(*document, file));
    case Format::Problem:
      break;
    case Format::Unknown:
      return std::unexpected(fmt::format(
          "{}: none of the known formats: it has no 'cache', no 'results' and no 'ConfigurationSpace'", file.string()));
  }
  if (next == paths.size()) {
    return std::unexpected(
        fmt::format("{}: a problem without measurements; name the file with its results after it", file.string()));
  }
  const auto& results_file = paths[next++];
  const auto results = read_python_json(results_file);
  if (!results) return std::unexpected(results.error());
  const auto format = format_of(*results);
  if (format != Format::Cache && format != Format::Results) {
    return std::unexpected(fmt::format("{}: neither T4 results nor a cache, and {} needs its measurements here",
                                       results_file.string(), file.string()));
  }
  return one(load_problem(*document, file, *results, results_file));
}

}  // namespace

std::expected<Spaces, std::string> load(std::span<const fs::path> paths) {
  Spaces spaces;
  std::set<std::string> names;
  for (std::size_t next = 0; next < paths.size();) {
    const auto& path = paths[next];
    std::error_code error;
    const auto status = fs::status(path, error);
    if (!fs::exists(status)) return std::unexpected(fmt::format("{}: no such file or folder", path.string()));
    auto loaded = fs::is_directory(status) ? load_folder(paths[next++]) : load_file(paths, next);
    if (!loaded) return loaded;
    for (auto& each : *loaded) {
      // Traces and tables know a space by its name.
      if (!names.insert(each.name()).second)
        return std::unexpected(fmt::format("{}: there is another space '{}'", path.string(), each.name()));
      each.set_source(path);
      spaces.push_back(std::move(each));
    }
  }
  return spaces;
}

}  // namespace nocturne::search::replay
