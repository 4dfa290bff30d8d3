#include "tuner/installation/installation.hpp"

#include <cstdlib>

#include "measure/run/own_program.hpp"

namespace nocturne::tuner {

std::filesystem::path Installation::data_set(const std::string& name) const {
  return source_root / "examples" / "data" / name;
}

std::filesystem::path Installation::data_of(const space::Workload& workload) const {
  if (!workload.data_folder.empty()) return workload.data_folder;
  return workload.is_synthetic() ? source_root / "examples" / "data" : data_set(workload.data);
}

namespace {

namespace fs = std::filesystem;

bool holds_sources(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / "kernels", ignored);
}

/// Where `cmake --install` puts them: beside the folder of the program.
fs::path installed_prefix() {
  return measure::own_program_path().parent_path().parent_path();
}

}  // namespace

Installation find_installation() {
  Installation installation;
  const char* moved = std::getenv("NOCTURNE_SOURCE");
  const fs::path prefix = installed_prefix(), installed = prefix / "share" / "nocturne";
  if (moved != nullptr && *moved != '\0')
    installation.source_root = moved;
  else
    installation.source_root = holds_sources(installed) ? installed : fs::path(NOCTURNE_SOURCE_FOLDER);
  const auto unpacked = [&](const char* name) {
    std::error_code ignored;
    for (const fs::path& own : {installation.source_root / ".deps" / name, prefix / "lib" / "nocturne" / name})
      if (fs::exists(own, ignored)) return own;
    return fs::path();
  };
  installation.json_prefix = unpacked("nlohmann-json");
  installation.onednn_prefix = unpacked("onednn");
  return installation;
}

}  // namespace nocturne::tuner
