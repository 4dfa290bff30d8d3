#include "tuner/installation/installation.hpp"

#include <cstdlib>

namespace nocturne::tuner {

std::filesystem::path Installation::data_set(const std::string& name) const {
  return source_root / "examples" / "data" / name;
}

std::filesystem::path Installation::data_of(const space::Workload& workload) const {
  if (!workload.data_folder.empty()) return workload.data_folder;
  return workload.is_synthetic() ? source_root / "examples" / "data" : data_set(workload.data);
}

Installation find_installation() {
  Installation installation;
  const char* moved = std::getenv("NOCTURNE_SOURCE");
  installation.source_root = moved != nullptr && *moved != '\0' ? moved : NOCTURNE_SOURCE_FOLDER;
  const auto unpacked = [&installation](const char* name) {
    std::filesystem::path own = installation.source_root / ".deps" / name;
    std::error_code ignored;
    return std::filesystem::exists(own, ignored) ? own : std::filesystem::path{};
  };
  installation.json_prefix = unpacked("nlohmann-json");
  installation.onednn_prefix = unpacked("onednn");
  return installation;
}

}  // namespace nocturne::tuner
