#pragma once

/// Caches and memory nodes, read from sysfs: what working sets are chosen by.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

namespace nocturne::machine {

/// A cache that holds data, as one CPU sees it.
struct CacheLevel {
  int level = 0;  ///< 1: nearest to the CPU
  std::int64_t bytes = 0;
  int sharers = 1;  ///< CPUs of this process that share it
  friend bool operator==(const CacheLevel&, const CacheLevel&) = default;
};

/// A NUMA node with CPUs of this process.
struct MemoryNode {
  int id = 0;
  std::vector<int> cpus;
  friend bool operator==(const MemoryNode&, const MemoryNode&) = default;
};

/// "0-3,8" → 0, 1, 2, 3, 8. Empty where it is no such list.
[[nodiscard]] std::vector<int> parse_cpu_list(std::string_view text);

/// Nearest first. Empty where the system does not tell. `allowed`: the CPUs of this process.
[[nodiscard]] std::vector<CacheLevel> data_caches(int cpu, const std::vector<int>& allowed,
                                                  const std::filesystem::path& sys = "/sys");

/// By number; nodes without a CPU of this process are left out. Empty where the system does not tell.
[[nodiscard]] std::vector<MemoryNode> memory_nodes(const std::vector<int>& allowed,
                                                   const std::filesystem::path& sys = "/sys");

/// Cores that these CPUs belong to; each CPU is one where the system does not tell.
[[nodiscard]] int core_count(const std::vector<int>& cpus, const std::filesystem::path& sys = "/sys");

/// Bytes that one thread works on so that they lie in caches[index] and not in a nearer one, where `together` of its
/// sharers work at once: half of its share; where that is no more than twice the nearer cache, up to three quarters.
/// 0: its share is no larger than the nearer cache, so it cannot be distinguished.
[[nodiscard]] std::size_t working_set(const std::vector<CacheLevel>& caches, std::size_t index, bool together);

/// All last caches that these CPUs have together; a usual size where the system does not tell. Not what sysconf says:
/// in virtual machines that can be the whole socket's.
[[nodiscard]] std::size_t last_cache_bytes(const std::vector<int>& cpus, const std::filesystem::path& sys = "/sys");
[[nodiscard]] std::size_t free_memory_bytes();

/// Four times their last caches, all threads together, but at most a quarter of the memory that is free: what each
/// thread of a team on these CPUs works on to reach memory.
[[nodiscard]] std::size_t memory_working_set(const std::vector<int>& cpus);

}  // namespace nocturne::machine
