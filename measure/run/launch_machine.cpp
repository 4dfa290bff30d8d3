// What launch settings depend on, read from this machine.

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>

#include "measure/run/launch.hpp"

namespace nocturne::measure {
namespace {

namespace fs = std::filesystem;

int read_number(const fs::path& file, int otherwise) {
  std::ifstream in(file);
  int value = otherwise;
  return in >> value ? value : otherwise;
}

std::vector<LaunchCpu> allowed_cpus() {
  std::vector<LaunchCpu> cpus;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(static_cast<std::size_t>(cpu), &set)) continue;
    const fs::path topology = fs::path("/sys/devices/system/cpu") / ("cpu" + std::to_string(cpu)) / "topology";
    const int package = read_number(topology / "physical_package_id", 0);
    const int core = read_number(topology / "core_id", cpu);
    cpus.push_back({.cpu = cpu, .core = core, .package = package});
  }
  return cpus;
}

/// Folders in which Debian, Fedora and hand-made installations keep shared libraries, and those of LD_LIBRARY_PATH.
std::optional<fs::path> find_library(std::string_view name) {
  std::vector<fs::path> folders;
  if (const char* listed = std::getenv("LD_LIBRARY_PATH")) {
    std::string_view rest = listed;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(':'), rest.size());
      if (end > 0) folders.emplace_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  for (const char* folder :
       {"/usr/local/lib", "/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
        "/lib/aarch64-linux-gnu", "/usr/lib64", "/lib64", "/usr/lib"}) {
    folders.emplace_back(folder);
  }
  for (const fs::path& folder : folders) {
    std::error_code ignored;
    if (fs::is_regular_file(folder / name, ignored)) return folder / name;
  }
  return std::nullopt;
}

}  // namespace

LaunchMachine probe_launch_machine() {
  return {.allowed = allowed_cpus(), .find_library = find_library};
}

}  // namespace nocturne::measure
