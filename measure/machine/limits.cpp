// What this process may use of the machine: affinity, cgroup quota, memory and its limit.

#include <algorithm>
#include <charconv>
#include <sstream>

#include "measure/machine/machine_part.hpp"
#include "measure/machine/parts.hpp"

namespace nocturne::measure {
namespace {

namespace fs = std::filesystem;

/// Limits above this are the kernel's way of saying "none" (cgroup v1 writes the largest number of pages).
constexpr std::int64_t kNoLimit = std::int64_t{1} << 60;

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

/// The folders of this process's cgroup and its ancestors, innermost first. `controller` empty: version 2.
std::vector<fs::path> cgroup_folders(const fs::path& root, std::string_view controller) {
  std::string inside;
  bool found = false;
  std::istringstream in(whole_text(root / "proc/self/cgroup"));
  for (std::string line; std::getline(in, line) && !found;) {  // hierarchy:controllers:path
    const auto first = line.find(':');
    const auto second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = ',' + line.substr(first + 1, second - first - 1) + ',';
    found = controller.empty() ? controllers == ",," : controllers.contains(',' + std::string(controller) + ',');
    if (found) inside = line.substr(second + 1);
  }
  if (!found) return {};
  const fs::path mount = root / "sys/fs/cgroup" / controller;
  std::vector<fs::path> folders;
  for (fs::path path = fs::path(inside).relative_path(); !path.empty(); path = path.parent_path())
    folders.push_back(mount / path);
  folders.push_back(mount);
  return folders;
}

template <typename Number>
void keep_smallest(std::optional<Number>& smallest, Number value) {
  smallest = smallest ? std::min(*smallest, value) : value;
}

std::optional<double> cpu_quota(const fs::path& root) {
  std::optional<double> quota;
  for (const fs::path& folder : cgroup_folders(root, "")) {  // "150000 100000" or "max 100000"
    std::istringstream in(first_line(folder / "cpu.max"));
    double granted = 0, period = 0;
    if (in >> granted >> period && granted > 0 && period > 0) keep_smallest(quota, granted / period);
  }
  for (const fs::path& folder : cgroup_folders(root, "cpu")) {
    const auto granted = number(first_line(folder / "cpu.cfs_quota_us"));
    const auto period = number(first_line(folder / "cpu.cfs_period_us"));
    if (granted && period && *granted > 0 && *period > 0)
      keep_smallest(quota, static_cast<double>(*granted) / static_cast<double>(*period));
  }
  return quota;
}

std::optional<std::int64_t> memory_limit(const fs::path& root) {
  std::optional<std::int64_t> limit;
  for (const fs::path& folder : cgroup_folders(root, ""))
    if (const auto bytes = number(first_line(folder / "memory.max")); bytes && *bytes < kNoLimit)
      keep_smallest(limit, *bytes);
  for (const fs::path& folder : cgroup_folders(root, "memory"))
    if (const auto bytes = number(first_line(folder / "memory.limit_in_bytes")); bytes && *bytes < kNoLimit)
      keep_smallest(limit, *bytes);
  return limit;
}

}  // namespace

std::string field(const std::string& text, std::string_view name) {
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(name) || line.size() <= name.size() || line[name.size()] != ':') continue;
    const auto begin = line.find_first_not_of(" \t", name.size() + 1);
    return begin == std::string::npos ? std::string() : line.substr(begin);
  }
  return {};
}

void read_limits(const fs::path& root, MachineFacts& facts) {
  facts.allowed_cpus = parse_cpu_list(field(whole_text(root / "proc/self/status"), "Cpus_allowed_list"));
  facts.cpu_quota = cpu_quota(root);
  facts.memory_bytes = number(field(whole_text(root / "proc/meminfo"), "MemTotal")).value_or(0) * 1024;  // kB there
  facts.memory_limit_bytes = memory_limit(root);
  if (const auto share = present_part_memory_bytes()) keep_smallest(facts.memory_limit_bytes, *share);
}

}  // namespace nocturne::measure
