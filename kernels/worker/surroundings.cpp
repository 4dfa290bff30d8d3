#include "kernels/worker/surroundings.hpp"

#include <dlfcn.h>
#include <sched.h>
#include <sys/resource.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace nocturne::worker {
namespace {

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(static_cast<unsigned>(cpu), &set)) cpus.push_back(cpu);
  return cpus;
}

// A preloaded allocator is known by a function that only it has.
const char* allocator_in_use() {
  if (dlsym(RTLD_DEFAULT, "mallctl") != nullptr || dlsym(RTLD_DEFAULT, "je_mallctl") != nullptr) return "jemalloc";
  if (dlsym(RTLD_DEFAULT, "tc_version") != nullptr) return "tcmalloc";
  if (dlsym(RTLD_DEFAULT, "mi_version") != nullptr) return "mimalloc";
  return "glibc";
}

// The kernel marks the active word: "always [madvise] never".
std::string huge_page_mode() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string word;
  while (file >> word)
    if (word.front() == '[') return word.substr(1, word.size() - 2);
  return "unknown";
}

std::int64_t bytes_on_huge_pages() {
  std::ifstream file("/proc/self/smaps_rollup");
  std::string word;
  while (file >> word) {
    if (word != "AnonHugePages:") continue;
    std::int64_t kibibytes = 0;
    file >> kibibytes;
    return kibibytes * 1024;
  }
  return 0;
}

nlohmann::json governing_variables() {
  nlohmann::json found = nlohmann::json::object();
  for (const char* name :
       {"OMP_NUM_THREADS", "OMP_WAIT_POLICY", "OMP_PROC_BIND", "OMP_PLACES", "OMP_DYNAMIC", "OMP_THREAD_LIMIT",
        "GOMP_CPU_AFFINITY", "GOMP_SPINCOUNT", "GLIBC_TUNABLES", "LD_PRELOAD", "MALLOC_ARENA_MAX",
        "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_", "MALLOC_CONF", "ONEDNN_MAX_CPU_ISA",
        "ONEDNN_CPU_ISA_HINTS", "ONEDNN_DEFAULT_FPMATH_MODE", "ONEDNN_PRIMITIVE_CACHE_CAPACITY"}) {
    if (const char* value = std::getenv(name)) found[name] = value;
  }
  return found;
}

}  // namespace

nlohmann::json surroundings() {
  return {{"affinity", allowed_cpus()},
          {"allocator", allocator_in_use()},
          {"huge_pages", {{"kernel", huge_page_mode()}, {"bytes", bytes_on_huge_pages()}}},
          {"environment", governing_variables()}};
}

std::int64_t peak_resident_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace nocturne::worker
