#include "search/replay/load.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "search/replay/space_folder.hpp"

namespace nocturne::search::replay {
namespace {

namespace fs = std::filesystem;
using Loaded = std::expected<std::vector<RecordedSpace>, std::string>;

bool is_space_folder(const fs::path& folder) {
  std::error_code error;
  return fs::exists(folder / "space.json", error);
}

Loaded one(std::expected<RecordedSpace, std::string> recorded) {
  if (!recorded) return std::unexpected(recorded.error());
  std::vector<RecordedSpace> spaces;
  spaces.push_back(std::move(*recorded));
  return spaces;
}

Loaded load_folder(const fs::path& folder) {
  if (is_space_folder(folder)) return one(load_space_folder(folder));
  std::error_code error;
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (is_space_folder(entry.path())) folders.push_back(entry.path());
  }
  if (error) return std::unexpected(fmt::format("{}: {}", folder.string(), error.message()));
  if (folders.empty()) {
    return std::unexpected(
        fmt::format("{}: neither a space (space.json and results.csv.gz) nor a folder of spaces", folder.string()));
  }
  std::ranges::sort(folders);
  std::vector<RecordedSpace> spaces;
  for (const auto& each : folders) {
    auto recorded = load_space_folder(each);
    if (!recorded) return std::unexpected(recorded.error());
    spaces.push_back(std::move(*recorded));
  }
  return spaces;
}

}  // namespace

std::expected<std::vector<RecordedSpace>, std::string> load(const fs::path& path) {
  std::error_code error;
  const auto status = fs::status(path, error);
  if (!fs::exists(status)) return std::unexpected(fmt::format("{}: no such file or folder", path.string()));
  if (fs::is_directory(status)) return load_folder(path);
  return std::unexpected(fmt::format("{}: not a format of recorded spaces", path.string()));
}

}  // namespace nocturne::search::replay
