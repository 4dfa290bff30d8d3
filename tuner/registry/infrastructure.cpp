#include "tuner/registry/infrastructure.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "space/json_field.hpp"
#include "space/nearest.hpp"
#include "tuner/registry/registry_file.hpp"

namespace nocturne::tuner {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, 4> kStorageClasses = {"default-common", "default-high", "default-ssd",
                                                             "default-ultra_high"};

/// Names as archspec has them.
const std::map<std::string, std::vector<std::string>, std::less<>>& microarchitectures() {
  static const std::map<std::string, std::vector<std::string>, std::less<>> known = {
      {"x86_64", {"x86_64",  "x86_64_v2", "x86_64_v3",      "x86_64_v4",   "nocona",      "core2",
                  "nehalem", "westmere",  "sandybridge",    "ivybridge",   "haswell",     "broadwell",
                  "skylake", "mic_knl",   "skylake_avx512", "cannonlake",  "cascadelake", "icelake",
                  "k10",     "bulldozer", "piledriver",     "steamroller", "excavator",   "sapphirerapids",
                  "zen",     "zen2",      "zen3",           "zen4",        "zen5"}},
      {"aarch64",
       {"aarch64", "armv8.1a", "armv8.2a", "armv9.0a", "thunderx2", "a64fx", "cortex_a72", "graviton", "graviton2",
        "graviton3", "graviton4", "neoverse_n1", "neoverse_v1", "neoverse_v2", "neoverse_n2"}},
      {"ppc64le", {"ppc64le", "power8le", "power9le", "power10le"}},
      {"ppc64", {"ppc64", "power7", "power8", "power9", "power10"}}};
  return known;
}

void check_processor(Checks& checks, const std::string& node) {
  const std::string cpu = node + "/cpu";
  const Json* arch = checks.get(cpu, "arch");
  const Json* micro = checks.get(cpu, "microarch");
  std::vector<std::string> names;
  for (const auto& [name, ignored] : microarchitectures()) names.push_back(name);
  if (arch != nullptr && !microarchitectures().contains(arch->get<std::string>())) {
    checks.add(cpu + "/arch", "found " + shown(*arch), fmt::format("{}", fmt::join(names, ", ")),
               space::nearest(arch->get<std::string>(), names));
    return;
  }
  if (micro == nullptr) return;
  const std::string parent = arch != nullptr ? arch->get<std::string>() : "x86_64";
  const auto& children = microarchitectures().at(parent);
  if (std::ranges::find(children, micro->get<std::string>()) != children.end()) return;
  checks.add(cpu + "/microarch", fmt::format("{} does not descend from {}", shown(*micro), parent),
             fmt::format("{}", fmt::join(children, ", ")), space::nearest(micro->get<std::string>(), children));
}

/// What the schema cannot say.
void check_partitions(Checks& checks) {
  const Json* partitions = checks.get("", "partitions");
  if (partitions == nullptr) return;
  std::string first;
  for (const auto& [name, partition] : partitions->items()) {
    const std::string pointer = pointer_to("/partitions", name);
    if (partition.value("default", false)) {
      if (!first.empty())
        checks.add(pointer + "/default", fmt::format("{} is the default already", first), "one default partition");
      first = name;
    }
    const Json node = partition.value("node", Json::object());
    if (node.contains("naccel") != node.contains("accel"))
      checks.add(pointer + "/node", "naccel and accel go together", "both, or neither");
    check_processor(checks, pointer + "/node");
  }
}

Storage storage_from(const Json& document) {
  return document.value("storage", Json::object()).get<Storage>();
}

Partition partition_from(const std::string& name, const Json& document) {
  Partition partition{.name = name, .is_default = document.value("default", false), .storage = storage_from(document)};
  space::take_field(document, "nodes", partition.nodes);
  const Json node = document.value("node", Json::object());
  const Json cpu = node.value("cpu", Json::object());
  if (cpu.contains("ncores"))
    partition.node_cores = node.value("ncpus", std::int64_t{1}) * cpu["ncores"].get<std::int64_t>();
  partition.accelerator = node.value("accel", Json::object()).value("type", "");
  return partition;
}

}  // namespace

const Partition* Infrastructure::partition(std::string_view named) const {
  const auto found = named.empty() ? std::ranges::find(partitions, true, &Partition::is_default)
                                   : std::ranges::find(partitions, named, &Partition::name);
  return found != partitions.end() ? &*found : nullptr;
}

Storage Infrastructure::storage_of(const Partition* partition) const {
  Storage all = storage;
  if (partition != nullptr)
    for (const auto& [url, storage_class] : partition->storage) all[url] = storage_class;
  return all;
}

int rank_of_storage(std::string_view storage_class) {
  const auto* found = std::ranges::find(kStorageClasses, storage_class);
  return found == kStorageClasses.end() ? 0 : static_cast<int>(found - kStorageClasses.begin()) + 1;
}

std::optional<std::pair<std::string, std::string>> preferred_storage(const Storage& storage,
                                                                     std::string_view preference) {
  std::optional<std::pair<std::string, std::string>> best;
  const int wanted = preference.empty() ? 1 : rank_of_storage(preference);
  // The highest that is not above what was asked for; where there is none, the slowest.
  const auto order = [wanted](const std::string& storage_class) {
    const int rank = rank_of_storage(storage_class);
    return rank <= wanted ? std::pair(0, -rank) : std::pair(1, rank);
  };
  for (const auto& [url, storage_class] : storage)
    if (!best || order(storage_class) < order(best->second)) best = {url, storage_class};
  return best;
}

std::expected<Infrastructure, std::vector<Problem>> read_infrastructure(std::string_view text, const std::string& file,
                                                                        const std::string& stem) {
  auto read = read_registry_file(text, file, "infrastructure", stem);
  if (!read) return std::unexpected(std::move(read.error()));
  Checks checks(*read);
  check_partitions(checks);
  if (!checks.empty()) return std::unexpected(checks.take());
  const Json& document = read->value;
  Infrastructure infrastructure{.name = document["infrastructure"],
                                .description = document.value("description", ""),
                                .disabled = document.value("disabled", false),
                                .scheduler = document["scheduler"],
                                .container_runtime = document.value("container_runtime", ""),
                                .modules = document.value("modules", std::vector<std::string>{}),
                                .shared_folder = document.value("shared_folder", ""),
                                .local_folder = document.value("local_folder", ""),
                                .storage = storage_from(document)};
  if (infrastructure.scheduler == "none") infrastructure.scheduler.clear();
  const Json partitions = document.value("partitions", Json::object());
  for (const auto& [name, partition] : partitions.items())
    infrastructure.partitions.push_back(partition_from(name, partition));
  return infrastructure;
}

}  // namespace nocturne::tuner
