#include "measure/run/launch.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>
#include <variant>

#include "measure/run/placement.hpp"
#include "measure/run/shell_words.hpp"

namespace nocturne::measure {
namespace {

namespace fs = std::filesystem;
using space::Configuration;
using space::Value;

constexpr std::string_view kEnvironmentPrefix = "env.";

constexpr std::array<LaunchParameter, 8> kLaunchParameters = {{
    {"threads", "integer from 1 to the allowed CPUs", "OMP_NUM_THREADS, OMP_DYNAMIC=false",
     "Threads of the OpenMP pool. More than physical cores seldom helps training."},
    {"affinity", "none, close, compact (the same as close), spread, l3, numa",
     "allowed CPUs, OMP_PLACES, OMP_PROC_BIND",
     "Where the threads sit: anywhere, on neighbouring cores, as far apart as possible, or on the cores of one L3 "
     "cache or memory node before those of the next. A pinned thread keeps its caches. Fast cores come before slower "
     "ones."},
    {"memory_policy", "local, interleave, bind", "memory policy of the process (set_mempolicy)",
     "On which memory nodes pages are put: that of the thread that first touches them, all in turns, or those of its "
     "threads alone."},
    {"wait_policy", "default, active, passive", "OMP_WAIT_POLICY, GOMP_SPINCOUNT",
     "Whether threads spin at a barrier or sleep. Spinning is faster on a quiet machine and much slower on a busy "
     "one."},
    {"huge_pages", "true, false", "GLIBC_TUNABLES=glibc.malloc.hugetlb=1, or MALLOC_CONF=thp:always under jemalloc",
     "Lets the kernel back large blocks with 2 MiB pages: fewer TLB misses, less spread by placement."},
    {"allocator", "glibc, glibc-large, jemalloc, tcmalloc",
     "LD_PRELOAD, MALLOC_MMAP_THRESHOLD_, MALLOC_TRIM_THRESHOLD_",
     "Who serves malloc. glibc-large keeps big blocks instead of returning them to the kernel at every free."},
    {"isa_cap",
     "none, sse41, avx, avx2, avx2_vnni, avx512_core, avx512_core_vnni, avx512_core_bf16, avx512_core_fp16, "
     "avx512_core_amx",
     "ONEDNN_MAX_CPU_ISA", "The newest instructions oneDNN may use: wider is not faster everywhere."},
    {"env.NAME", "any text or number; true is 1, false is 0", "the variable NAME",
     "Sets an environment variable of the worker, for whatever has no parameter of its own."},
}};

/// One that no parameter sets is removed from what the caller's shell passes on.
constexpr std::array<GovernedVariable, 18> kGoverned = {{{"DNNL_MAX_CPU_ISA", "isa_cap"},
                                                         {"GLIBC_TUNABLES", "huge_pages"},
                                                         {"GOMP_CPU_AFFINITY", "affinity"},
                                                         {"GOMP_SPINCOUNT", "wait_policy"},
                                                         {"KMP_AFFINITY", "affinity"},
                                                         {"KMP_BLOCKTIME", "wait_policy"},
                                                         {"LD_PRELOAD", "allocator"},
                                                         {"MALLOC_ARENA_MAX", "allocator"},
                                                         {"MALLOC_CONF", "huge_pages"},
                                                         {"MALLOC_MMAP_THRESHOLD_", "allocator"},
                                                         {"MALLOC_TOP_PAD_", "allocator"},
                                                         {"MALLOC_TRIM_THRESHOLD_", "allocator"},
                                                         {"OMP_DYNAMIC", "threads"},
                                                         {"OMP_NUM_THREADS", "threads"},
                                                         {"OMP_PLACES", "affinity"},
                                                         {"OMP_PROC_BIND", "affinity"},
                                                         {"OMP_WAIT_POLICY", "wait_policy"},
                                                         {"ONEDNN_MAX_CPU_ISA", "isa_cap"}}};

struct Allocator {
  std::string_view name;
  std::array<std::string_view, 2> libraries;  // any of these
  std::string_view package;                   // of Debian
};
constexpr std::array<Allocator, 2> kPreloaded = {{
    {"jemalloc", {"libjemalloc.so.2", "libjemalloc.so.1"}, "libjemalloc2"},
    {"tcmalloc", {"libtcmalloc_minimal.so.4", "libtcmalloc.so.4"}, "libtcmalloc-minimal4"},
}};

struct Placement {
  std::string_view name;
  std::vector<int> (*choose)(std::span<const LogicalCpu> allowed, std::size_t count);
};
constexpr std::array<Placement, 5> kPlacements = {{
    {"close", neighbouring_cpus},
    {"compact", neighbouring_cpus},
    {"spread", distant_cpus},
    {"l3", [](auto allowed, std::size_t count) { return filled_domains(allowed, count, &LogicalCpu::l3); }},
    {"numa", [](auto allowed, std::size_t count) { return filled_domains(allowed, count, &LogicalCpu::node); }},
}};

constexpr std::array<std::string_view, 3> kMemoryPolicies = {"local", "interleave", "bind"};

const LaunchParameter& launch_row(std::string_view name) {
  return *std::ranges::find(kLaunchParameters, name, &LaunchParameter::name);
}

std::unexpected<std::string> refuse_setting(std::string_view name, const Value& value) {
  return std::unexpected(fmt::format("{} is '{}'; allowed: {}", name, space::to_text(value), launch_row(name).values));
}

std::unexpected<std::string> refuse_unread_cpus(std::string_view name, std::string_view value) {
  return std::unexpected(fmt::format("{} is '{}', but the CPUs of this machine cannot be read", name, value));
}

std::optional<fs::path> find_allocator(const Allocator& allocator, const LaunchMachine& machine) {
  if (!machine.find_library) return std::nullopt;
  for (const std::string_view library : allocator.libraries)
    if (auto path = machine.find_library(library)) return path;
  return std::nullopt;
}

/// Fills LaunchSettings from one parameter after the other. Each method returns a sentence where the value is refused.
class Composer {
 public:
  Composer(const Configuration& configuration, const LaunchMachine& machine)
      : configuration_(configuration), machine_(machine) {}

  std::expected<LaunchSettings, std::string> compose() {
    for (const auto step : {&Composer::threads, &Composer::affinity, &Composer::memory_policy, &Composer::wait_policy,
                            &Composer::allocator, &Composer::huge_pages, &Composer::isa_cap, &Composer::environment}) {
      if (auto done = (this->*step)(); !done) return std::unexpected(std::move(done.error()));
    }
    // Two parameters may each have a tunable, and the variable is one.
    if (!tunables_.empty()) settings_.set["GLIBC_TUNABLES"] = fmt::format("{}", fmt::join(tunables_, ":"));
    for (const GovernedVariable& variable : kGoverned) {
      const bool preloads = variable.name == "LD_PRELOAD" && !settings_.preload.empty();
      if (!preloads && !settings_.set.contains(std::string(variable.name))) settings_.unset.emplace_back(variable.name);
    }
    return std::move(settings_);
  }

 private:
  using Done = std::expected<void, std::string>;

  Done threads() {
    const Value* value = configuration_.find("threads");
    if (value == nullptr) return {};
    const auto* count = std::get_if<std::int64_t>(value);
    if (count == nullptr || *count < 1) return refuse_setting("threads", *value);
    threads_ = static_cast<std::size_t>(*count);
    if (!machine_.allowed.empty() && threads_ > machine_.allowed.size()) {
      return std::unexpected(
          fmt::format("threads is {}, but only {} CPUs are allowed to this process", *count, machine_.allowed.size()));
    }
    settings_.set["OMP_NUM_THREADS"] = std::to_string(*count);
    // Without this the runtime may take fewer threads on a busy machine, and the trial would be one of another
    // configuration.
    settings_.set["OMP_DYNAMIC"] = "false";
    return {};
  }

  Done affinity() {
    const Value* value = configuration_.find("affinity");
    if (value == nullptr) return {};
    const auto* text = std::get_if<std::string>(value);
    if (text == nullptr) return refuse_setting("affinity", *value);
    // Said, not left open: some runtimes bind threads by default.
    if (*text == "none") {
      settings_.set["OMP_PROC_BIND"] = "false";
      return {};
    }
    const auto known = std::ranges::find(kPlacements, *text, &Placement::name);
    if (known == kPlacements.end()) return refuse_setting("affinity", *value);
    if (machine_.allowed.empty()) return refuse_unread_cpus("affinity", *text);
    const std::size_t count = threads_ == 0 ? machine_.allowed.size() : threads_;
    settings_.cpus = known->choose(machine_.allowed, count);
    // Places in the order chosen, so that thread i sits on the i-th CPU of the list. They are explicit: "cores" would
    // mean something else under each runtime where the process may use only some of the CPUs.
    std::vector<std::string> places;
    for (const int cpu : settings_.cpus) places.push_back(fmt::format("{{{}}}", cpu));
    settings_.set["OMP_PLACES"] = fmt::format("{}", fmt::join(places, ","));
    settings_.set["OMP_PROC_BIND"] = "close";
    // The mask has no order; the places above keep it.
    std::ranges::sort(settings_.cpus);
    return {};
  }

  Done memory_policy() {
    const Value* value = configuration_.find("memory_policy");
    if (value == nullptr) return {};
    const auto* text = std::get_if<std::string>(value);
    if (text == nullptr || std::ranges::find(kMemoryPolicies, *text) == kMemoryPolicies.end())
      return refuse_setting("memory_policy", *value);
    settings_.memory.mode = *text;
    if (*text == "local") return {};
    if (machine_.allowed.empty()) return refuse_unread_cpus("memory_policy", *text);
    std::set<int> nodes;
    for (const LogicalCpu& cpu : machine_.allowed) {
      const bool used = settings_.cpus.empty() || std::ranges::binary_search(settings_.cpus, cpu.cpu);
      if (*text == "interleave" || used) nodes.insert(cpu.node);
    }
    settings_.memory.nodes.assign(nodes.begin(), nodes.end());
    return {};
  }

  Done wait_policy() {
    const Value* value = configuration_.find("wait_policy");
    if (value == nullptr) return {};
    const auto* text = std::get_if<std::string>(value);
    if (text == nullptr) return refuse_setting("wait_policy", *value);
    if (*text == "default") return {};
    if (*text != "active" && *text != "passive") return refuse_setting("wait_policy", *value);
    settings_.set["OMP_WAIT_POLICY"] = *text;
    // libgomp spins a bounded number of times under either policy unless told; these are its own words for ever and
    // never.
    settings_.set["GOMP_SPINCOUNT"] = *text == "active" ? "infinity" : "0";
    return {};
  }

  Done allocator() {
    const Value* value = configuration_.find("allocator");
    if (value == nullptr) return {};
    const auto* text = std::get_if<std::string>(value);
    if (text == nullptr) return refuse_setting("allocator", *value);
    allocator_ = *text;
    if (*text == "glibc") return {};
    if (*text == "glibc-large") {
      // 4 GiB and 8 GiB: no tensor of a training step is mapped for itself, and what was freed stays with the process.
      settings_.set["MALLOC_MMAP_THRESHOLD_"] = "4294967296";
      settings_.set["MALLOC_TRIM_THRESHOLD_"] = "8589934592";
      return {};
    }
    const auto known = std::ranges::find(kPreloaded, *text, &Allocator::name);
    if (known == kPreloaded.end()) return refuse_setting("allocator", *value);
    const auto library = find_allocator(*known, machine_);
    if (!library) {
      return std::unexpected(fmt::format("allocator is '{}', but {} is not on this machine: install the package {}",
                                         *text, known->libraries.front(), known->package));
    }
    settings_.preload.push_back(*library);
    return {};
  }

  Done huge_pages() {
    const Value* value = configuration_.find("huge_pages");
    if (value == nullptr) return {};
    const auto* on = std::get_if<bool>(value);
    if (on == nullptr) return refuse_setting("huge_pages", *value);
    if (!*on) return {};
    // A setting that changes nothing would be reported as one that gains nothing.
    if (allocator_ == "tcmalloc")
      return std::unexpected("huge_pages is true, but tcmalloc does not ask for huge pages: it would have no effect");
    if (allocator_ == "jemalloc")
      settings_.set["MALLOC_CONF"] = "thp:always";
    else
      tunables_.emplace_back("glibc.malloc.hugetlb=1");
    return {};
  }

  Done isa_cap() {
    const Value* value = configuration_.find("isa_cap");
    if (value == nullptr) return {};
    const auto* text = std::get_if<std::string>(value);
    if (text == nullptr) return refuse_setting("isa_cap", *value);
    if (*text == "none") return {};
    const std::string_view allowed = launch_row("isa_cap").values;
    bool known = false;
    for (std::size_t begin = 0; begin < allowed.size();) {
      const std::size_t end = std::min(allowed.find(", ", begin), allowed.size());
      known = known || allowed.substr(begin, end - begin) == *text;
      begin = end + 2;
    }
    if (!known) return refuse_setting("isa_cap", *value);
    std::string upper = *text;
    std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    settings_.set["ONEDNN_MAX_CPU_ISA"] = std::move(upper);
    return {};
  }

  Done environment() {
    for (const auto& [name, value] : configuration_.values()) {
      if (!name.starts_with(kEnvironmentPrefix)) continue;
      const std::string variable = name.substr(kEnvironmentPrefix.size());
      if (!is_variable_name(variable)) {
        return std::unexpected(
            fmt::format("{}: '{}' is not the name of an environment variable (letters, digits and _, no digit first)",
                        name, variable));
      }
      // They steer the worker and its recorder: a campaign that set one would break the protocol.
      if (variable.starts_with("NOCTURNE_"))
        return std::unexpected(fmt::format("{}: variables that begin with NOCTURNE_ are ours", name));
      const auto* flag = std::get_if<bool>(&value);
      const std::string text = flag != nullptr ? (*flag ? "1" : "0") : space::to_text(value);
      if (text.find('\0') != std::string::npos) return std::unexpected(fmt::format("{} contains a zero byte", name));
      if (variable == "GLIBC_TUNABLES") {
        tunables_.push_back(text);
        continue;
      }
      const bool taken = settings_.set.contains(variable) || (variable == "LD_PRELOAD" && !settings_.preload.empty());
      // The order of the parameters would decide which one counts.
      if (taken) return std::unexpected(fmt::format("{} and another parameter both set {}", name, variable));
      settings_.set[variable] = text;
    }
    return {};
  }

  const Configuration& configuration_;
  const LaunchMachine& machine_;
  LaunchSettings settings_;
  std::size_t threads_ = 0;  // 0: not a parameter of this configuration
  std::string allocator_ = "glibc";
  std::vector<std::string> tunables_;
};

std::vector<LogicalCpu> allowed_cpus() {
  std::vector<int> cpus;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return {};
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) cpus.push_back(cpu);
  return places_of(read_topology(), cpus);
}

std::size_t count_domains(const LaunchMachine& machine, int LogicalCpu::* domain) {
  std::set<int> domains;
  for (const LogicalCpu& cpu : machine.allowed) domains.insert(cpu.*domain);
  return domains.size();
}

/// Folders in which Debian, Fedora and hand-made installations keep shared libraries, and those of LD_LIBRARY_PATH.
std::optional<fs::path> find_library(std::string_view name) {
  std::vector<fs::path> folders;
  if (const char* listed = std::getenv("LD_LIBRARY_PATH")) {
    std::string_view rest = listed;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(':'), rest.size());
      if (end > 0) folders.emplace_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  for (const char* folder :
       {"/usr/local/lib", "/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
        "/lib/aarch64-linux-gnu", "/usr/lib64", "/lib64", "/usr/lib"}) {
    folders.emplace_back(folder);
  }
  for (const fs::path& folder : folders) {
    std::error_code ignored;
    if (fs::is_regular_file(folder / name, ignored)) return folder / name;
  }
  return std::nullopt;
}

}  // namespace

std::span<const LaunchParameter> launch_parameters() {
  return kLaunchParameters;
}

std::span<const GovernedVariable> governed_variables() {
  return kGoverned;
}

bool is_launch_parameter(std::string_view name) {
  if (name.starts_with(kEnvironmentPrefix)) return true;
  return std::ranges::find(kLaunchParameters, name, &LaunchParameter::name) != kLaunchParameters.end();
}

std::expected<LaunchSettings, std::string> launch_settings(const Configuration& configuration,
                                                           const LaunchMachine& machine) {
  return Composer(configuration, machine).compose();
}

std::vector<std::string> available_allocators(const LaunchMachine& machine) {
  std::vector<std::string> names = {"glibc", "glibc-large"};
  for (const Allocator& allocator : kPreloaded)
    if (find_allocator(allocator, machine)) names.emplace_back(allocator.name);
  return names;
}

std::vector<std::string> distinct_affinities(const LaunchMachine& machine) {
  std::vector<std::string> names = {"none", "close", "spread"};
  const std::size_t caches = count_domains(machine, &LogicalCpu::l3), nodes = count_domains(machine, &LogicalCpu::node);
  if (caches > 1) names.emplace_back("l3");
  if (nodes > 1 && nodes != caches) names.emplace_back("numa");  // else each node has one cache: the same
  return names;
}

std::vector<std::string> distinct_memory_policies(const LaunchMachine& machine) {
  if (count_domains(machine, &LogicalCpu::node) < 2) return {};
  return {kMemoryPolicies.begin(), kMemoryPolicies.end()};
}

// What launch settings depend on, read from this machine.

LaunchMachine probe_launch_machine() {
  return {.allowed = allowed_cpus(), .find_library = find_library};
}

// What is done with LaunchSettings once they are composed: environments, lists of CPUs and commands.

std::map<std::string, std::string> LaunchSettings::variables() const {
  std::map<std::string, std::string> result = set;
  if (!preload.empty()) {
    std::vector<std::string> paths;
    for (const auto& library : preload) paths.push_back(library.string());
    result["LD_PRELOAD"] = fmt::format("{}", fmt::join(paths, ":"));
  }
  return result;
}

std::string LaunchSettings::cpu_list() const {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t end = i;
    while (end + 1 < cpus.size() && cpus[end + 1] == cpus[end] + 1) ++end;
    parts.push_back(end == i ? std::to_string(cpus[i]) : fmt::format("{}-{}", cpus[i], cpus[end]));
    i = end + 1;
  }
  return fmt::format("{}", fmt::join(parts, ","));
}

std::vector<std::string> typed_words(const LaunchSettings& settings, std::span<const std::string> argv) {
  std::vector<std::string> words;
  const auto variables = settings.variables();
  if (!variables.empty() || !settings.unset.empty()) words.emplace_back("env");
  for (const std::string& name : settings.unset) words.insert(words.end(), {"-u", name});
  for (const auto& [name, value] : variables) words.push_back(name + '=' + value);
  for (std::string& word : placing_words(settings)) words.push_back(std::move(word));
  words.insert(words.end(), argv.begin(), argv.end());
  return words;
}

std::vector<std::string> placing_words(const LaunchSettings& settings) {
  std::vector<std::string> words;
  if (!settings.cpus.empty()) words = {"taskset", "-c", settings.cpu_list()};
  for (std::string& word : numactl_words(settings.memory)) words.push_back(std::move(word));
  return words;
}

}  // namespace nocturne::measure
