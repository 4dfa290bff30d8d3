#pragma once

/// A control group (version 2) around a run: an exact memory limit, proof when it struck, and a kill that nothing
/// escapes.
///
/// Made beside the supervisor's own group or inside it, so that limits which an administrator set further up stay in
/// force; the environment variable NOCTURNE_CGROUP names another parent. Where nothing can be made (no version 2, no
/// permission) there is none, and memory is polled. The memory limit needs the memory controller handed down to that
/// place; without it a group may still serve for killing.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace nocturne::measure {

class Cgroup {
 public:
  /// `name` must be unique (text of the supervisor's ProcessIdentity); limit: memory.max with swap forbidden. Tries the
  /// parents in order; the first that can hold the limit wins, else the first where a group can be made at all.
  [[nodiscard]] static std::optional<Cgroup> create(const std::string& name, std::optional<std::int64_t> limit_bytes,
                                                    const std::vector<std::filesystem::path>& parents);
  Cgroup(Cgroup&& other) noexcept;
  Cgroup& operator=(Cgroup&&) = delete;
  Cgroup(const Cgroup&) = delete;
  Cgroup& operator=(const Cgroup&) = delete;
  /// Removes the group; its processes must be gone.
  ~Cgroup();

  [[nodiscard]] bool limits_memory() const { return limits_memory_; }
  /// The calling process joins; false where that is forbidden. Safe between fork and exec.
  [[nodiscard]] bool join() const;
  /// Kills every process in it at once (cgroup.kill, Linux 5.14).
  void kill() const;
  /// Times the kernel killed for the limit: oom_kill of memory.events.
  [[nodiscard]] std::int64_t oom_kills() const;
  [[nodiscard]] std::optional<std::int64_t> peak_bytes() const;        ///< memory.peak, Linux 5.19
  [[nodiscard]] std::optional<std::int64_t> cpu_microseconds() const;  ///< usage_usec of cpu.stat
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

 private:
  Cgroup() = default;
  std::filesystem::path folder_;
  std::string procs_;  ///< path of cgroup.procs, made before fork: no allocation after it
  bool limits_memory_ = false;
};

/// Where groups of this process may be made, best first; empty without control groups of version 2.
[[nodiscard]] std::vector<std::filesystem::path> cgroup_parents();

/// Kills and removes groups whose supervisor is gone; returns how many.
std::size_t sweep_cgroups(const std::vector<std::filesystem::path>& parents);

}  // namespace nocturne::measure
