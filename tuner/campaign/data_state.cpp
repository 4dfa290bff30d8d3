#include "tuner/campaign/data_state.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "space/digest.hpp"

namespace nocturne::tuner {

std::string data_state(const space::Workload& workload) {
  namespace fs = std::filesystem;
  if (workload.data_folder.empty()) return {};
  const fs::path folder = workload.data_folder;
  std::vector<std::string> lines;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    struct stat info{};
    if (::stat(entry->path().c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    lines.push_back(fmt::format("{}\n{} {}.{:09}\n", entry->path().lexically_relative(folder).string(), info.st_size,
                                info.st_mtim.tv_sec, info.st_mtim.tv_nsec));
  }
  std::ranges::sort(lines);  // a folder has no order of its own
  space::Sha256 digest;
  for (const std::string& line : lines) digest.update(line);
  return digest.finish();
}

}  // namespace nocturne::tuner
