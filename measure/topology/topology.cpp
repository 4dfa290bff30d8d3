#include "measure/topology/topology.hpp"

#include <hwloc.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

namespace nocturne::measure {
namespace {

struct DestroyTopology {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Loaded = std::unique_ptr<hwloc_topology, DestroyTopology>;

/// Not loaded yet. Null where there is no memory.
Loaded new_topology() {
  hwloc_topology_t raw = nullptr;
  return Loaded(hwloc_topology_init(&raw) == 0 ? raw : nullptr);
}

/// Where /sys is not there, as in some sandboxes, hwloc complains on stderr: then CPUs are counted, and no more is
/// known.
TopologySource seen_source(const TopologySource& source) {
  std::error_code ignored;
  if (!source.is_this_machine() || std::filesystem::exists("/sys/devices/system/cpu", ignored)) return source;
  return {.synthetic = "pu:" + std::to_string(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)))};
}

/// Null where hwloc cannot read it.
Loaded load_topology(const TopologySource& source) {
  // Its plugins are loaded for the first topology and unloaded with the last: this one stays.
  static const Loaded keeps_plugins = new_topology();
  Loaded topology = new_topology();
  if (!topology) return nullptr;
  hwloc_topology_t raw = topology.get();
  // It would move this thread to each CPU in turn, to ask for what the kernel tells as well.
  hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
  // A cpuset hides no part of the machine: which CPUs are allowed is asked elsewhere, for affinity counts, too.
  hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  hwloc_topology_set_icache_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_ALL);
  const bool chosen =
      source.is_this_machine() || (source.xml.empty() ? hwloc_topology_set_synthetic(raw, source.synthetic.c_str())
                                                      : hwloc_topology_set_xml(raw, source.xml.c_str())) == 0;
  if (!chosen || hwloc_topology_load(raw) != 0) return nullptr;
  return topology;
}

/// PU → its kind, 0 the fastest. Without a PU: all are alike, or nobody knows which is faster.
std::map<unsigned, int> kinds_of(hwloc_topology_t topology) {
  std::map<unsigned, int> kinds;
  const int count = hwloc_cpukinds_get_nr(topology, 0);
  hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
  for (int i = 0; count > 1 && i < count; ++i) {
    int efficiency = -1;
    if (hwloc_cpukinds_get_info(topology, static_cast<unsigned>(i), cpus, &efficiency, nullptr, nullptr, 0) != 0 ||
        efficiency < 0)
      continue;
    for (int cpu = hwloc_bitmap_first(cpus); cpu >= 0; cpu = hwloc_bitmap_next(cpus, cpu))
      kinds[static_cast<unsigned>(cpu)] = count - 1 - i;  // hwloc ranks the slowest first
  }
  hwloc_bitmap_free(cpus);
  return kinds;
}

int number_above(hwloc_topology_t topology, hwloc_obj_t object, hwloc_obj_type_t type, int otherwise) {
  const hwloc_obj_t above = hwloc_get_ancestor_obj_by_type(topology, type, object);
  return above == nullptr ? otherwise : static_cast<int>(above->logical_index);
}

std::string_view word_of(hwloc_obj_cache_type_t type) {
  return type == HWLOC_OBJ_CACHE_DATA ? "Data" : type == HWLOC_OBJ_CACHE_INSTRUCTION ? "Instruction" : "Unified";
}

std::vector<Cache> caches_of(hwloc_topology_t topology) {
  std::map<std::tuple<int, std::string, std::int64_t>, int> counted;
  for (int depth = 0; depth < hwloc_topology_get_depth(topology); ++depth) {
    for (hwloc_obj_t each = hwloc_get_obj_by_depth(topology, depth, 0); each != nullptr; each = each->next_cousin) {
      if (hwloc_obj_type_is_cache(each->type) == 0) break;
      const auto& cache = each->attr->cache;
      if (cache.size > 0)
        ++counted[{static_cast<int>(cache.depth), std::string(word_of(cache.type)),
                   static_cast<std::int64_t>(cache.size)}];
    }
  }
  std::vector<Cache> caches;
  for (const auto& [kind, count] : counted) {
    caches.push_back(
        {.level = std::get<0>(kind), .type = std::get<1>(kind), .bytes = std::get<2>(kind), .count = count});
  }
  return caches;
}

}  // namespace

Topology read_topology(const TopologySource& source) {
  Topology result;
  const Loaded loaded = load_topology(seen_source(source));
  if (!loaded) return result;
  hwloc_topology_t topology = loaded.get();
  const std::map<unsigned, int> kinds = kinds_of(topology);
  for (hwloc_obj_t pu = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, nullptr); pu != nullptr;
       pu = pu->next_cousin) {
    const int cpu = static_cast<int>(pu->os_index);
    const int node = hwloc_bitmap_first(pu->nodeset);
    const auto kind = kinds.find(pu->os_index);
    result.cpus.push_back({.cpu = cpu,
                           .core = number_above(topology, pu, HWLOC_OBJ_CORE, cpu),
                           .package = number_above(topology, pu, HWLOC_OBJ_PACKAGE, 0),
                           .l3 = number_above(topology, pu, HWLOC_OBJ_L3CACHE, -1),
                           .node = std::max(node, 0),
                           .kind = kind == kinds.end() ? 0 : kind->second});
  }
  std::ranges::sort(result.cpus, {}, &LogicalCpu::cpu);
  result.caches = caches_of(topology);
  // Where the kernel tells of no packages or cores there is one, and each CPU is a core.
  result.packages = std::max(1, hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE));
  const int cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
  result.cores = cores > 0 ? cores : static_cast<int>(result.cpus.size());
  result.nodes = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE);
  return result;
}

std::vector<LogicalCpu> places_of(const Topology& topology, std::span<const int> cpus) {
  std::vector<LogicalCpu> places;
  for (const int cpu : cpus) {
    const auto known = std::ranges::lower_bound(topology.cpus, cpu, {}, &LogicalCpu::cpu);
    places.push_back(known != topology.cpus.end() && known->cpu == cpu ? *known : LogicalCpu{.cpu = cpu, .core = cpu});
  }
  return places;
}

std::vector<int> cores_by_kind(std::span<const LogicalCpu> cpus) {
  std::map<int, std::set<std::pair<int, int>>> cores;
  for (const LogicalCpu& cpu : cpus) cores[cpu.kind].insert({cpu.package, cpu.core});
  std::vector<int> counts;
  for (const auto& [kind, of_kind] : cores) counts.push_back(static_cast<int>(of_kind.size()));
  return counts;
}

}  // namespace nocturne::measure
