// The processor: what /proc/cpuinfo says of its make, and hwloc of its parts.

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <fstream>
#include <map>
#include <numeric>
#include <set>
#include <sstream>

#include "measure/machine/parts.hpp"
#include "space/file_contents.hpp"

namespace nocturne::measure {
namespace {

namespace fs = std::filesystem;

/// Beginnings of those flags that decide how fast training computes; /proc/cpuinfo has a hundred others.
constexpr std::array<std::string_view, 19> kComputing = {"sse", "ssse3", "avx", "fma", "f16c", "amx", "bmi", "abm",
                                                         "popcnt", "aes", "vaes", "vpclmulqdq", "sha_ni", "gfni",
                                                         // of 64-bit ARM
                                                         "asimd", "sve", "sme", "bf16", "i8mm"};

std::string_view trimmed(std::string_view text) {
  const auto is_space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

int to_number(std::string_view text, int otherwise) {
  int value = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// The blocks of /proc/cpuinfo, one a logical CPU.
std::vector<std::map<std::string, std::string, std::less<>>> cpuinfo_blocks(const fs::path& root) {
  std::vector<std::map<std::string, std::string, std::less<>>> blocks;
  std::istringstream in(whole_text(root / "proc/cpuinfo"));
  bool fresh = true;
  for (std::string line; std::getline(in, line);) {
    const auto colon = line.find(':');
    if (colon == std::string::npos) {
      fresh = true;
      continue;
    }
    if (fresh) blocks.emplace_back();
    fresh = false;
    const std::string_view text = line;
    blocks.back()[std::string(trimmed(text.substr(0, colon)))] = trimmed(text.substr(colon + 1));
  }
  std::erase_if(blocks, [](const auto& block) { return !block.contains("processor"); });
  return blocks;
}

std::string value_of(const std::map<std::string, std::string, std::less<>>& block, std::string_view key) {
  const auto found = block.find(key);
  return found == block.end() ? std::string() : found->second;
}

std::vector<std::string> computing_flags(const std::string& flags) {
  std::set<std::string> kept;
  std::istringstream in(flags);
  for (std::string flag; in >> flag;)
    if (std::ranges::any_of(kComputing, [&flag](std::string_view stem) { return flag.starts_with(stem); }))
      kept.insert(flag);
  return {kept.begin(), kept.end()};
}

}  // namespace

std::string whole_text(const fs::path& file) {
  return space::read_file(file).value_or("");
}

std::string first_line(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return std::string(trimmed(line));
}

std::vector<int> parse_cpu_list(std::string_view text) {
  std::vector<int> cpus;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view range = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t dash = std::min(range.find('-'), range.size());
    const int first = to_number(range.substr(0, dash), -1);
    const int last = dash < range.size() ? to_number(range.substr(dash + 1), -1) : first;
    for (int cpu = first; first >= 0 && cpu <= last; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

void read_processor(const fs::path& root, MachineFacts& facts) {
  const auto blocks = cpuinfo_blocks(root);
  if (blocks.empty()) return;
  const auto& first = blocks.front();
  facts.cpu_model = value_of(first, "model name");
  facts.cpu_family = to_number(value_of(first, "cpu family"), 0);
  facts.cpu_model_number = to_number(value_of(first, "model"), 0);
  facts.cpu_stepping = to_number(value_of(first, "stepping"), 0);
  facts.microcode = value_of(first, "microcode");
  facts.isa = computing_flags(value_of(first, "flags") + ' ' + value_of(first, "Features"));
  if (facts.cpu_model.empty() && first.contains("CPU part"))  // 64-bit ARM has numbers for names
    facts.cpu_model = "ARM implementer " + value_of(first, "CPU implementer") + " part " + value_of(first, "CPU part");
}

void read_places(const MachineRoots& roots, MachineFacts& facts) {
  if (roots.topology.is_this_machine() && roots.root != "/") return;
  const Topology topology = read_topology(roots.topology);
  const std::vector<int> kinds = cores_by_kind(topology.cpus);
  const std::vector<int> allowed = cores_by_kind(places_of(topology, facts.allowed_cpus));
  facts.sockets = topology.packages;
  facts.cores = topology.cores;
  facts.threads = static_cast<int>(topology.cpus.size());
  facts.caches = topology.caches;
  facts.numa_nodes = topology.nodes;
  if (kinds.size() > 1) facts.cores_by_kind = kinds;
  facts.allowed_cores = std::accumulate(allowed.begin(), allowed.end(), 0);
  facts.allowed_fast_cores = allowed.empty() ? 0 : allowed.front();
}

}  // namespace nocturne::measure
