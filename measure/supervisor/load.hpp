#pragma once

/// What else happened on the machine: snapshots of /proc before and after a run, and the difference.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>

#include "space/run.hpp"

namespace nocturne::measure {

/// Counters of one moment. Empty fields: the kernel does not tell (no PSI, no /proc/stat).
struct LoadSnapshot {
  std::chrono::steady_clock::time_point at;
  std::optional<double> loadavg;                                               ///< 1-minute average
  std::optional<std::chrono::microseconds> cpu_stall, memory_stall, io_stall;  ///< "some … total" of /proc/pressure
  std::optional<std::int64_t> busy_ticks;   ///< user, nice, system, irq, softirq of the CPUs
  std::optional<std::int64_t> steal_ticks;  ///< taken by the hypervisor
  std::optional<std::int64_t> all_ticks;    ///< everything, idle included
};

/// `proc`: the folder to read; another than /proc in tests. `cpus`: whose ticks are counted; empty: all.
[[nodiscard]] LoadSnapshot read_load(const std::filesystem::path& proc = "/proc", std::span<const int> cpus = {});

/// `own_cpu`: CPU time of the run itself, taken out of `other_cpu`. Shares are clamped to 0…1; ticks are
/// 1/ticks_per_second s.
[[nodiscard]] space::Load load_between(const LoadSnapshot& before, const LoadSnapshot& after,
                                       std::chrono::nanoseconds own_cpu, long ticks_per_second = 0);

}  // namespace nocturne::measure
