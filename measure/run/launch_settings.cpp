// What is done with LaunchSettings once they are composed: environments and lists of CPUs.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "measure/run/launch.hpp"

namespace nocturne::measure {

std::map<std::string, std::string> LaunchSettings::variables() const {
  std::map<std::string, std::string> result = set;
  if (!preload.empty()) {
    std::vector<std::string> paths;
    for (const auto& library : preload) paths.push_back(library.string());
    result["LD_PRELOAD"] = fmt::format("{}", fmt::join(paths, ":"));
  }
  return result;
}

void LaunchSettings::apply_to(std::map<std::string, std::string>& environment) const {
  for (const std::string& name : unset) environment.erase(name);
  for (const auto& [name, value] : variables()) environment[name] = value;
}

std::string LaunchSettings::cpu_list() const {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t end = i;
    while (end + 1 < cpus.size() && cpus[end + 1] == cpus[end] + 1) ++end;
    parts.push_back(end == i ? std::to_string(cpus[i]) : fmt::format("{}-{}", cpus[i], cpus[end]));
    i = end + 1;
  }
  return fmt::format("{}", fmt::join(parts, ","));
}

}  // namespace nocturne::measure
