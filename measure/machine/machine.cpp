#include "measure/machine/machine.hpp"

#include <algorithm>
#include <cmath>

#include "measure/machine/parts.hpp"
#include "space/folder_entries.hpp"

namespace nocturne::measure {

namespace {

int cut_by_quota(int cpus, const std::optional<double>& quota) {
  return std::max(1, quota ? std::min(cpus, static_cast<int>(std::floor(*quota))) : cpus);
}

}  // namespace

int MachineFacts::usable_cores() const {
  return cut_by_quota(allowed_cores > 0 ? allowed_cores : cores, cpu_quota);
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
  read_system(roots.root, facts);
  read_accelerators(roots.root, facts);
  return facts;
}

MachineFacts probe_machine(const MachineRoots& roots) {
  MachineFacts facts = probe_machine_cheaply(roots);
  read_caches(roots.root, facts);
  read_software(roots, facts);
  return facts;
}

bool has_isa(const MachineFacts& facts, std::string_view name) {
  return std::ranges::find(facts.isa, name) != facts.isa.end();
}

}  // namespace nocturne::measure
