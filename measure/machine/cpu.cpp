// The processor: /proc/cpuinfo and /sys/devices/system/{cpu,node}.

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <tuple>

#include "measure/machine/parts.hpp"
#include "space/file_contents.hpp"
#include "space/folder_entries.hpp"

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

/// "cpu12" → 12; empty for other names.
std::optional<int> number_of_entry(const std::string& name, std::string_view stem) {
  if (!name.starts_with(stem) || name.size() == stem.size()) return std::nullopt;
  int value = 0;
  const char* end = name.data() + name.size();
  const auto [stopped, error] = std::from_chars(name.data() + stem.size(), end, value);
  return error == std::errc() && stopped == end ? std::optional(value) : std::nullopt;
}

std::vector<fs::path> numbered_entries(const fs::path& folder, std::string_view stem) {
  std::map<int, fs::path> found;
  for (const fs::directory_entry& entry : space::entries_of(folder))
    if (const auto number = number_of_entry(entry.path().filename(), stem)) found[*number] = entry.path();
  std::vector<fs::path> result;
  for (auto& [number, path] : found) result.push_back(std::move(path));
  return result;
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

std::int64_t parse_cache_size(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return 0;
  const char unit = end < text.data() + text.size() ? *end : ' ';
  return unit == 'K' ? value << 10 : unit == 'M' ? value << 20 : unit == 'G' ? value << 30 : value;
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
  facts.threads = static_cast<int>(blocks.size());
  std::set<std::string> sockets;
  std::set<std::pair<std::string, std::string>> cores;
  for (const auto& block : blocks) {
    const std::string socket = value_of(block, "physical id");
    const std::string core = value_of(block, "core id");
    sockets.insert(socket);
    cores.insert({socket, core.empty() ? "processor " + value_of(block, "processor") : core});
  }
  facts.sockets = static_cast<int>(sockets.size());
  facts.cores = static_cast<int>(cores.size());
}

void read_caches(const fs::path& root, MachineFacts& facts) {
  std::map<std::tuple<int, std::string, std::int64_t>, std::set<std::string>> sharers;
  for (const fs::path& cpu : numbered_entries(root / "sys/devices/system/cpu", "cpu")) {
    for (const fs::path& index : numbered_entries(cpu / "cache", "index")) {
      const std::int64_t bytes = parse_cache_size(first_line(index / "size"));
      if (bytes == 0) continue;
      sharers[{to_number(first_line(index / "level"), 0), first_line(index / "type"), bytes}].insert(
          first_line(index / "shared_cpu_list"));
    }
  }
  for (const auto& [kind, lists] : sharers) {
    facts.caches.push_back({.level = std::get<0>(kind),
                            .type = std::get<1>(kind),
                            .bytes = std::get<2>(kind),
                            .count = static_cast<int>(lists.size())});
  }
  facts.numa_nodes = static_cast<int>(numbered_entries(root / "sys/devices/system/node", "node").size());
}

}  // namespace nocturne::measure
