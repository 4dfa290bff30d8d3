#pragma once

/// On which memory nodes the kernel puts a process's pages: set_mempolicy(2). Inherited by threads and children, and
/// through exec.

#include <string>
#include <vector>

namespace nocturne::measure {

struct MemoryPolicy {
  /// local: the node of the CPU that first touches a page; interleave: page by page on each of the nodes; bind: on
  /// these nodes alone. Empty: as the caller's.
  std::string mode{};
  std::vector<int> nodes{};  ///< ascending, the kernel's numbers; none with local
  [[nodiscard]] bool is_set() const { return !mode.empty(); }
  friend bool operator==(const MemoryPolicy&, const MemoryPolicy&) = default;
};

/// One of the three, with nodes where it needs them.
[[nodiscard]] bool is_memory_policy(const MemoryPolicy& policy);

/// Sets it for this thread and what it starts; 0, or an errno (EINVAL: an unknown mode, or no such node). Allocates
/// nothing, so it may stand between fork and exec. A sandbox that forbids the system call is no error for `local`:
/// nobody can have set anything else there.
[[nodiscard]] int set_memory_policy(const MemoryPolicy& policy);

/// "numactl --interleave=0,1" as words that stand before a command; none where no policy is set.
[[nodiscard]] std::vector<std::string> numactl_words(const MemoryPolicy& policy);

}  // namespace nocturne::measure
