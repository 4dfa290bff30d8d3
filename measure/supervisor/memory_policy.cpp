#include "measure/supervisor/memory_policy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>

namespace nocturne::measure {
namespace {

constexpr std::size_t kMostNodes = 1024;  // the kernel's own limit
constexpr std::size_t kBits = sizeof(unsigned long) * CHAR_BIT;

}  // namespace

bool is_memory_policy(const MemoryPolicy& policy) {
  if (policy.mode == "local") return policy.nodes.empty();
  return (policy.mode == "interleave" || policy.mode == "bind") && !policy.nodes.empty();
}

int set_memory_policy(const MemoryPolicy& policy) {
  if (!policy.is_set()) return 0;
  if (!is_memory_policy(policy)) return EINVAL;
  const bool local = policy.mode == "local";
  const int mode = local ? MPOL_LOCAL : policy.mode == "bind" ? MPOL_BIND : MPOL_INTERLEAVE;
  std::array<unsigned long, kMostNodes / kBits> mask{};
  for (const int node : policy.nodes) {
    const auto bit = static_cast<std::size_t>(node);
    if (node < 0 || bit >= kMostNodes) return EINVAL;
    mask[bit / kBits] |= 1UL << (bit % kBits);
  }
  // The kernel reads one bit less than it is told of.
  if (::syscall(SYS_set_mempolicy, mode, local ? nullptr : mask.data(), local ? 0UL : kMostNodes + 1) == 0) return 0;
  return local && (errno == EPERM || errno == ENOSYS) ? 0 : errno;
}

std::vector<std::string> numactl_words(const MemoryPolicy& policy) {
  if (!policy.is_set()) return {};
  if (policy.mode == "local") return {"numactl", "--localalloc"};
  return {"numactl",
          fmt::format("--{}={}", policy.mode == "bind" ? "membind" : "interleave", fmt::join(policy.nodes, ","))};
}

}  // namespace nocturne::measure
