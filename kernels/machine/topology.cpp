#include "kernels/machine/topology.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <set>
#include <string>

namespace nocturne::machine {
namespace {

namespace fs = std::filesystem;

constexpr int kMostCpus = 65536;  // a list that names more is no list of CPUs
// Where the system does not tell: a server's share of a socket.
constexpr std::size_t kUsualCache = std::size_t{32} << 20;

std::string first_line(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

bool parse_number(std::string_view text, int& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number >= 0 && number < kMostCpus;
}

/// "32K", "1024K", "16M"; 0 where it is none.
std::int64_t parse_size(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number <= 0) return 0;
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (unit == "K") return number << 10;
  if (unit == "M") return number << 20;
  if (unit == "G") return number << 30;
  return unit.empty() ? number : 0;
}

std::vector<int> common(const std::vector<int>& some, const std::vector<int>& others) {
  std::vector<int> both;
  for (const int cpu : some)
    if (std::ranges::find(others, cpu) != others.end()) both.push_back(cpu);
  return both;
}

}  // namespace

std::vector<int> parse_cpu_list(std::string_view text) {
  std::vector<int> cpus;
  while (!text.empty()) {
    const auto comma = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const auto dash = part.find('-');
    int first = 0, last = 0;
    if (!parse_number(part.substr(0, dash), first)) return {};
    last = first;
    if (dash != std::string_view::npos && !parse_number(part.substr(dash + 1), last)) return {};
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

std::vector<CacheLevel> data_caches(int cpu, const std::vector<int>& allowed, const fs::path& sys) {
  std::map<int, CacheLevel> levels;
  const fs::path folder = sys / "devices/system/cpu" / ("cpu" + std::to_string(cpu)) / "cache";
  for (int index = 0; index < 16; ++index) {
    const fs::path each = folder / ("index" + std::to_string(index));
    const std::string type = first_line(each / "type");
    int level = 0;
    if ((type != "Data" && type != "Unified") || !parse_number(first_line(each / "level"), level)) continue;
    const std::int64_t bytes = parse_size(first_line(each / "size"));
    if (bytes == 0) continue;
    const auto sharers = common(parse_cpu_list(first_line(each / "shared_cpu_list")), allowed);
    levels[level] = {.level = level, .bytes = bytes, .sharers = std::max(1, static_cast<int>(sharers.size()))};
  }
  std::vector<CacheLevel> caches;
  for (const auto& [level, cache] : levels) caches.push_back(cache);
  return caches;
}

std::vector<MemoryNode> memory_nodes(const std::vector<int>& allowed, const fs::path& sys) {
  std::vector<MemoryNode> nodes;
  for (const int id : parse_cpu_list(first_line(sys / "devices/system/node/online"))) {
    const fs::path list = sys / "devices/system/node" / ("node" + std::to_string(id)) / "cpulist";
    auto cpus = common(parse_cpu_list(first_line(list)), allowed);
    if (!cpus.empty()) nodes.push_back({.id = id, .cpus = std::move(cpus)});
  }
  return nodes;
}

int core_count(const std::vector<int>& cpus, const fs::path& sys) {
  std::set<std::string> cores;
  for (const int cpu : cpus) {
    const std::string name = "cpu" + std::to_string(cpu);
    const fs::path siblings = sys / "devices/system/cpu" / name / "topology/thread_siblings_list";
    const std::string core = first_line(siblings);  // the same text for each CPU of a core
    cores.insert(core.empty() ? name : core);
  }
  return static_cast<int>(cores.size());
}

std::size_t working_set(const std::vector<CacheLevel>& caches, std::size_t index, bool together) {
  const CacheLevel& cache = caches[index];
  const std::int64_t share = cache.bytes / (together ? cache.sharers : 1);
  std::int64_t nearer = 0;
  if (index > 0) nearer = caches[index - 1].bytes / (together ? caches[index - 1].sharers : 1);
  const std::int64_t most = share / 4 * 3;
  if (most <= nearer) return 0;
  return static_cast<std::size_t>(std::max(share / 2, std::min(2 * nearer, most)));
}

std::size_t last_cache_bytes(const std::vector<int>& cpus, const fs::path& sys) {
  const auto caches = data_caches(cpus.front(), cpus, sys);
  if (caches.empty()) return kUsualCache;
  const CacheLevel& last = caches.back();
  const std::size_t sharers = static_cast<std::size_t>(last.sharers);
  return static_cast<std::size_t>(last.bytes) * ((cpus.size() + sharers - 1) / sharers);
}

std::size_t free_memory_bytes() {
  const long pages = sysconf(_SC_AVPHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return std::size_t{1} << 30;
  return static_cast<std::size_t>(pages) * static_cast<std::size_t>(page);
}

std::size_t memory_working_set(const std::vector<int>& cpus) {
  return std::min(4 * last_cache_bytes(cpus), free_memory_bytes() / 4) / cpus.size();
}

}  // namespace nocturne::machine
