#include "measure/machine/machine_part.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "measure/machine/machine.hpp"
#include "measure/machine/parts.hpp"
#include "measure/run/launch.hpp"
#include "space/folder_entries.hpp"
#include "space/names.hpp"
#include "space/parse_number.hpp"

namespace nocturne::measure {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPart = "NOCTURNE_PART";
constexpr const char* kPartMemory = "NOCTURNE_PART_MEMORY";
constexpr const char* kVisible = "CUDA_VISIBLE_DEVICES";
constexpr const char* kNumbering = "CUDA_DEVICE_ORDER";
constexpr std::array<std::string_view, 2> kKinds = {"gpu", "numa"};

/// The logical CPUs of one core, which share what it has.
using Core = std::vector<LogicalCpu>;

std::vector<Core> cores_of(std::span<const LogicalCpu> cpus) {
  std::map<std::tuple<int, int, int>, Core> cores;
  for (const LogicalCpu& cpu : cpus) cores[{cpu.node, cpu.package, cpu.core}].push_back(cpu);
  std::vector<Core> list;
  for (auto& [place, core] : cores) list.push_back(std::move(core));
  return list;
}

MachinePart part_of(std::string name, std::span<const Core> cores) {
  MachinePart part{.name = std::move(name)};
  for (const Core& core : cores)
    for (const LogicalCpu& cpu : core) part.cpus.push_back(cpu.cpu);
  std::ranges::sort(part.cpus);
  return part;
}

void share_memory(std::int64_t bytes, std::vector<MachinePart>& parts) {
  for (MachinePart& part : parts) part.memory_bytes = bytes / static_cast<std::int64_t>(parts.size());
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

/// All that the driver shows, in the order of their addresses on the bus ("0000:3b:00.0"), which is nvidia-smi's.
struct DriverGpu {
  std::string uuid{}, model{};
  int node = -1;
};

std::vector<DriverGpu> gpus_of_driver(const fs::path& root) {
  const fs::path folder = root / "proc/driver/nvidia/gpus";
  std::set<std::string> addresses;
  for (const fs::directory_entry& entry : space::entries_of(folder)) addresses.insert(entry.path().filename().string());
  std::vector<DriverGpu> gpus;
  for (const std::string& address : addresses) {
    const std::string text = whole_text(folder / address / "information");
    const std::string node = first_line(root / "sys/bus/pci/devices" / address / "numa_node");
    gpus.push_back({.uuid = field(text, "GPU UUID"),
                    .model = field(text, "Model"),
                    .node = space::parse_number<int>(node).value_or(-1)});
  }
  return gpus;
}

/// The one that a word of CUDA_VISIBLE_DEVICES means, of which a UUID may be cut short. Part of a GPU ("MIG-…"), or one
/// that the driver does not show under that name: it is like the first, somewhere.
DriverGpu meant_by(const std::string& word, const std::vector<DriverGpu>& gpus) {
  if (const auto index = space::parse_number<std::size_t>(word))
    return *index < gpus.size() ? gpus[*index] : DriverGpu{};
  const auto found = std::ranges::find_if(gpus, [&](const DriverGpu& gpu) { return gpu.uuid.starts_with(word); });
  if (found != gpus.end()) return *found;
  return gpus.empty() ? DriverGpu{} : DriverGpu{.model = gpus.front().model};
}

}  // namespace

std::string_view to_text(PartKind kind) {
  return space::name_of(kind, kKinds);
}

std::optional<PartKind> part_kind_from_text(std::string_view text) {
  return space::named<PartKind>(text, kKinds);
}

std::string_view plural(PartKind kind) {
  return kind == PartKind::Gpu ? "GPUs" : "memory nodes";
}

std::optional<PartKind> kind_of_part(std::string_view name) {
  return part_kind_from_text(name.substr(0, name.find_first_of("0123456789")));
}

std::vector<VisibleGpu> visible_gpus(const fs::path& root) {
  const std::vector<DriverGpu> known = gpus_of_driver(root);
  std::vector<VisibleGpu> visible;
  const auto add = [&](const std::string& word) {
    const DriverGpu gpu = meant_by(word, known);
    visible.push_back({.word = word, .model = gpu.model, .node = gpu.node});
  };
  if (std::getenv(kVisible) == nullptr) {
    for (std::size_t index = 0; index < known.size(); ++index) add(std::to_string(index));
    return visible;
  }
  std::istringstream words(variable(kVisible));
  // As CUDA reads it: the first that is none ends the list.
  for (std::string word; std::getline(words, word, ',') && !word.empty() && !word.starts_with('-');) add(word);
  return visible;
}

std::map<std::string, std::string> visible_gpu_variables() {
  std::map<std::string, std::string> variables;
  for (const char* name : {kVisible, kNumbering})
    if (const char* value = std::getenv(name)) variables.emplace(name, value);
  return variables;
}

std::expected<std::vector<MachinePart>, std::string> parts_by_gpu(std::span<const LogicalCpu> cpus,
                                                                  std::span<const VisibleGpu> gpus,
                                                                  std::int64_t memory_bytes) {
  if (gpus.empty()) return std::unexpected("no GPU is to be seen");
  std::vector<Core> free = cores_of(cpus);
  const std::size_t share = free.size() / gpus.size();
  if (share == 0) return std::unexpected(fmt::format("{} cores are too few for {} GPUs", free.size(), gpus.size()));
  std::vector<MachinePart> parts;
  for (const VisibleGpu& gpu : gpus) {
    std::ranges::stable_partition(free, [&](const Core& core) { return core.front().node == gpu.node; });
    MachinePart part = part_of(fmt::format("gpu{}", parts.size()), std::span(free).first(share));
    part.gpu = gpu.word;
    parts.push_back(std::move(part));
    free.erase(free.begin(), free.begin() + static_cast<std::ptrdiff_t>(share));
  }
  share_memory(memory_bytes, parts);
  return parts;
}

std::expected<std::vector<MachinePart>, std::string> parts_by_node(std::span<const LogicalCpu> cpus,
                                                                   std::int64_t memory_bytes) {
  std::map<int, std::vector<Core>> nodes;
  for (Core& core : cores_of(cpus)) nodes[core.front().node].push_back(std::move(core));
  if (nodes.size() < 2) return std::unexpected("there is one memory node alone");
  const std::size_t share = nodes.begin()->second.size();
  std::vector<MachinePart> parts;
  for (const auto& [node, cores] : nodes) {
    if (cores.size() != share) {
      return std::unexpected(fmt::format("memory node {} has {} cores, and memory node {} has {}", node, cores.size(),
                                         nodes.begin()->first, share));
    }
    parts.push_back(part_of(fmt::format("numa{}", node), cores));
  }
  share_memory(memory_bytes, parts);
  return parts;
}

std::expected<std::vector<MachinePart>, std::string> parts_of_this_machine(PartKind kind) {
  const MachineFacts facts = probe_machine_cheaply();
  const std::vector<LogicalCpu> cpus = places_of(read_topology(), facts.allowed_cpus);
  return kind == PartKind::Gpu ? parts_by_gpu(cpus, visible_gpus(), facts.usable_memory_bytes())
                               : parts_by_node(cpus, facts.usable_memory_bytes());
}

std::vector<std::string> words_in_part(const MachinePart& part, std::span<const std::string> argv) {
  LaunchSettings settings{.set = {{kPart, part.name}, {kPartMemory, std::to_string(part.memory_bytes)}},
                          .cpus = part.cpus};
  if (!part.gpu.empty()) {
    settings.set[kVisible] = part.gpu;
    // Their numbers are the driver's, whichever is the fastest.
    settings.set[kNumbering] = "PCI_BUS_ID";
  }
  return typed_words(settings, argv);
}

std::string present_part() {
  return variable(kPart);
}

std::vector<std::string> present_part_variables() {
  if (present_part().empty()) return {};
  return {kPart, kPartMemory, kVisible, kNumbering};
}

std::optional<std::int64_t> present_part_memory_bytes() {
  if (present_part().empty()) return std::nullopt;
  return space::parse_number<std::int64_t>(variable(kPartMemory));
}

}  // namespace nocturne::measure
