#pragma once

/// Watches the memory of a set of processes by polling, where no control group can.
///
/// Shared pages are counted once (proportional set size). Reading that walks page tables and holds the process's memory
/// lock, so it is read only when the cheap upper bound (sum of resident, swapped and huge pages) passes the limit; and
/// far from the limit even the bound is read seldom.

#include <sys/types.h>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace nocturne::measure {

/// VmRSS + VmSwap + HugetlbPages of /proc/PID/status, summed: never less than the proportional size.
[[nodiscard]] std::int64_t memory_upper_bound_bytes(std::span<const pid_t> processes);
/// Pss + SwapPss + Private_Hugetlb + Shared_Hugetlb of /proc/PID/smaps_rollup, summed; the bound of a process where
/// that file cannot be read.
[[nodiscard]] std::int64_t memory_proportional_bytes(std::span<const pid_t> processes);

class MemoryWatch {
 public:
  explicit MemoryWatch(std::int64_t limit_bytes) : limit_bytes_(limit_bytes) {}

  /// Looks once; a sentence when the limit is exceeded.
  [[nodiscard]] std::optional<std::string> check(std::span<const pid_t> processes);
  /// How long to wait before the next look: the time in which a process that touches fresh memory at 2 GiB/s would use
  /// up half of what is left, between 10 and 250 ms.
  [[nodiscard]] std::chrono::milliseconds pause() const;
  [[nodiscard]] std::int64_t peak_bytes() const { return peak_bytes_; }

 private:
  std::int64_t limit_bytes_;
  std::int64_t last_bytes_ = 0;
  std::int64_t peak_bytes_ = 0;
};

/// "1.5 GiB", "300 MiB"
[[nodiscard]] std::string bytes_text(std::int64_t bytes);

}  // namespace nocturne::measure
