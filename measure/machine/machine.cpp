#include "measure/machine/machine.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sstream>

#include "measure/machine/machine_part.hpp"
#include "measure/machine/parts.hpp"
#include "space/folder_entries.hpp"

namespace nocturne::measure {
namespace {

int cut_by_quota(int cpus, const std::optional<double>& quota) {
  return std::max(1, quota ? std::min(cpus, static_cast<int>(std::floor(*quota))) : cpus);
}

namespace fs = std::filesystem;

/// "always [madvise] never" → madvise
std::string chosen_of(const std::string& text) {
  const auto begin = text.find('[');
  const auto end = text.find(']');
  return begin == std::string::npos || end == std::string::npos || end < begin
             ? std::string()
             : text.substr(begin + 1, end - begin - 1);
}

std::string container_of(const fs::path& root) {
  std::error_code error;
  if (const std::string named = first_line(root / "run/systemd/container"); !named.empty()) return named;
  if (fs::exists(root / "run/.containerenv", error)) return "podman";
  if (fs::exists(root / ".singularity.d", error)) return "apptainer";
  if (fs::exists(root / ".dockerenv", error)) return "docker";
  if (root == "/" && std::getenv("CH_RUNNING") != nullptr) return "charliecloud";
  return {};
}

std::string hypervisor_of(const fs::path& root) {
  const std::string cpuinfo = whole_text(root / "proc/cpuinfo");
  const auto flags = cpuinfo.find("\nflags");
  if (flags == std::string::npos) return {};
  const std::string line = cpuinfo.substr(flags + 1, cpuinfo.find('\n', flags + 1) - flags - 1) + ' ';
  if (!line.contains(" hypervisor ")) return {};
  for (const char* file : {"sys/hypervisor/type", "sys/class/dmi/id/sys_vendor"})
    if (std::string name = first_line(root / file); !name.empty()) return name;
  return "unnamed";
}

std::optional<bool> boost_of(const fs::path& root) {
  const fs::path cpu = root / "sys/devices/system/cpu";
  if (const std::string boost = first_line(cpu / "cpufreq/boost"); !boost.empty()) return boost != "0";
  if (const std::string no_turbo = first_line(cpu / "intel_pstate/no_turbo"); !no_turbo.empty()) return no_turbo == "0";
  return std::nullopt;
}

}  // namespace

int MachineFacts::usable_cores() const {
  return cut_by_quota(allowed_cores > 0 ? allowed_cores : cores, cpu_quota);
}

int MachineFacts::usable_fast_cores() const {
  return std::min(usable_cores(), allowed_fast_cores > 0 ? allowed_fast_cores : usable_cores());
}

int MachineFacts::usable_threads() const {
  return cut_by_quota(allowed_cpus.empty() ? threads : static_cast<int>(allowed_cpus.size()), cpu_quota);
}

std::int64_t MachineFacts::usable_memory_bytes() const {
  return memory_limit_bytes ? std::min(memory_bytes, *memory_limit_bytes) : memory_bytes;
}

MachineFacts probe_machine_cheaply(const MachineRoots& roots) {
  MachineFacts facts;
  read_processor(roots.root, facts);
  read_limits(roots.root, facts);
  read_places(roots, facts);
  read_system(roots.root, facts);
  read_accelerators(roots.root, facts);
  return facts;
}

MachineFacts probe_machine(const MachineRoots& roots) {
  MachineFacts facts = probe_machine_cheaply(roots);
  read_software(roots, facts);
  return facts;
}

bool has_isa(const MachineFacts& facts, std::string_view name) {
  return std::ranges::find(facts.isa, name) != facts.isa.end();
}

// The system around the processor: kernel, clock governor, huge pages, containers, accelerators.

void read_system(const fs::path& root, MachineFacts& facts) {
  facts.kernel = first_line(root / "proc/sys/kernel/osrelease");
  facts.hostname = first_line(root / "proc/sys/kernel/hostname");
  // Under Slurm the name that its administrator knows; two nodes may even share a host.
  if (const char* node = std::getenv("SLURMD_NODENAME"); node != nullptr && *node != '\0') facts.hostname = node;
  facts.part = present_part();
  if (!facts.part.empty()) facts.hostname += "/" + facts.part;
  facts.governor = first_line(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  facts.boost = boost_of(root);
  facts.transparent_huge_pages = chosen_of(first_line(root / "sys/kernel/mm/transparent_hugepage/enabled"));
  facts.hypervisor = hypervisor_of(root);
  facts.container = container_of(root);
}

void read_accelerators(const fs::path& root, MachineFacts& facts) {
  const fs::path driver = root / "proc/driver/nvidia";
  // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  Thu …"; the open module says it in other words.
  std::istringstream words(first_line(driver / "version"));
  for (std::string word; words >> word;) {
    if (word.find_first_not_of("0123456789.") == std::string::npos && word.contains('.')) {
      facts.gpu_driver = word;
      break;
    }
  }
  for (const VisibleGpu& gpu : visible_gpus(root))
    if (!gpu.model.empty()) facts.gpus.push_back(gpu.model);
}

}  // namespace nocturne::measure
