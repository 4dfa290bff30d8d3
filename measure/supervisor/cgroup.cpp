#include "measure/supervisor/cgroup.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include "measure/supervisor/process_tree.hpp"

namespace nocturne::measure {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "nocturne-";

bool write_text(const fs::path& path, const std::string& text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t count = ::write(file, text.data(), text.size());
  ::close(file);
  return count == static_cast<ssize_t>(text.size());
}

// A line "key value" of a flat keyed file.
std::optional<std::int64_t> keyed_value(const fs::path& path, const std::string& key) {
  std::ifstream file(path);
  std::string name;
  std::int64_t value = 0;
  while (file >> name >> value)
    if (name == key) return value;
  return std::nullopt;
}

bool set_limit(const fs::path& folder, std::int64_t limit_bytes) {
  if (!write_text(folder / "memory.max", std::to_string(limit_bytes))) return false;
  (void)write_text(folder / "memory.oom.group", "1");  // half a worker is worse than none
  // Absent on kernels without swap; then nothing can be swapped out.
  const fs::path swap = folder / "memory.swap.max";
  return !fs::exists(swap) || write_text(swap, "0");
}

// The first mount of type cgroup2 in /proc/self/mounts: "cgroup2 /sys/fs/cgroup cgroup2 rw,… 0 0".
fs::path mount_point() {
  std::ifstream mounts("/proc/self/mounts");
  std::string line;
  while (std::getline(mounts, line)) {
    std::istringstream words(line);
    std::string device, folder, type;
    words >> device >> folder >> type;
    if (type == "cgroup2") return folder;
  }
  return {};
}

// The line "0::/path" of /proc/self/cgroup.
std::string own_group() {
  std::ifstream file("/proc/self/cgroup");
  std::string line;
  while (std::getline(file, line))
    if (line.starts_with("0::/")) return line.substr(4);
  return {};
}

}  // namespace

std::optional<Cgroup> Cgroup::create(const std::string& name, std::optional<std::int64_t> limit_bytes,
                                     const std::vector<fs::path>& parents) {
  std::optional<Cgroup> without_limit;
  for (const auto& parent : parents) {
    Cgroup group;
    const fs::path folder = parent / (kPrefix + name);
    if (::mkdir(folder.c_str(), 0755) != 0) continue;
    group.folder_ = folder;
    group.procs_ = (folder / "cgroup.procs").string();
    if (::access(group.procs_.c_str(), W_OK) != 0) continue;
    if (!limit_bytes) return group;
    group.limits_memory_ = set_limit(folder, *limit_bytes);
    if (group.limits_memory_) return group;
    if (!without_limit) without_limit.emplace(std::move(group));
  }
  return without_limit;
}

Cgroup::Cgroup(Cgroup&& other) noexcept
    : folder_(std::exchange(other.folder_, {})),
      procs_(std::move(other.procs_)),
      limits_memory_(other.limits_memory_) {}

Cgroup::~Cgroup() {
  if (!folder_.empty()) ::rmdir(folder_.c_str());
}

bool Cgroup::join() const {
  const int file = ::open(procs_.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t count = ::write(file, "0", 1);
  ::close(file);
  return count == 1;
}

void Cgroup::kill() const {
  (void)write_text(folder_ / "cgroup.kill", "1");
}

std::int64_t Cgroup::oom_kills() const {
  return keyed_value(folder_ / "memory.events", "oom_kill").value_or(0);
}

std::optional<std::int64_t> Cgroup::peak_bytes() const {
  std::ifstream file(folder_ / "memory.peak");
  std::int64_t value = 0;
  if (file >> value) return value;
  return std::nullopt;
}

std::optional<std::int64_t> Cgroup::cpu_microseconds() const {
  return keyed_value(folder_ / "cpu.stat", "usage_usec");
}

std::vector<fs::path> cgroup_parents() {
  std::vector<fs::path> parents;
  if (const char* wanted = std::getenv("NOCTURNE_CGROUP"); wanted != nullptr && *wanted == '/')
    parents.emplace_back(wanted);
  const fs::path mount = mount_point();
  if (mount.empty()) return parents;
  const std::string own = own_group();
  const fs::path folder = own.empty() ? mount : mount / own;
  // Beside our own first: a group that holds processes cannot hand controllers down to groups inside it.
  if (!own.empty()) parents.push_back(folder.parent_path());
  parents.push_back(folder);
  return parents;
}

std::size_t sweep_cgroups(const std::vector<fs::path>& parents) {
  std::size_t removed = 0;
  for (const auto& parent : parents) {
    std::error_code error;
    std::vector<fs::path> stale;
    for (const auto& entry : fs::directory_iterator(parent, error)) {
      const std::string name = entry.path().filename().string();
      if (!name.starts_with(kPrefix)) continue;
      const auto supervisor =
          ProcessIdentity::from_text(std::string_view(name).substr(std::string_view(kPrefix).size()));
      if (supervisor && !supervisor->alive()) stale.push_back(entry.path());
    }
    for (const auto& folder : stale) {
      (void)write_text(folder / "cgroup.kill", "1");
      // The group can be removed when its last process is reaped, a moment later.
      for (int round = 0; round < 100; ++round) {
        if (::rmdir(folder.c_str()) == 0) {
          ++removed;
          break;
        }
        ::usleep(5'000);
      }
    }
  }
  return removed;
}

}  // namespace nocturne::measure
