#pragma once

/// Finds and ends processes: descendants by /proc, strays by the run id in their environment.

#include <sys/types.h>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nocturne::measure {

/// Environment variables by which a process is known to belong to a run.
inline constexpr const char* kRunIdVariable = "NOCTURNE_RUN_ID";
inline constexpr const char* kSupervisorVariable = "NOCTURNE_SUPERVISOR";

/// Names a process for all time: a number alone is used again.
struct ProcessIdentity {
  pid_t pid = 0;
  std::uint64_t start_ticks = 0;    ///< since boot, field 22 of proc_pid_stat(5)
  std::uint64_t pid_namespace = 0;  ///< inode: the same number means another process in another namespace

  /// "4711-1234567-4026531836"
  [[nodiscard]] std::string to_text() const;
  [[nodiscard]] static std::optional<ProcessIdentity> from_text(std::string_view text);
  [[nodiscard]] static ProcessIdentity of_this_process();
  /// True when that process still runs (a zombie does not).
  [[nodiscard]] bool alive() const;
  friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) = default;
};

/// All living descendants of a process, parents before children, zombies left out.
[[nodiscard]] std::vector<pid_t> descendants_of(pid_t root);

/// Kills all descendants of a process that adopts orphans and does not reap meanwhile, again until none is left or ten
/// seconds have passed.
void kill_descendants(pid_t root);

/// The letter of proc_pid_stat(5): R, S, T (stopped), Z…; '?' where there is no such process.
[[nodiscard]] char state_of_process(pid_t pid);

/// User and system time of a process, all its threads and the children it has waited for; zero where it is gone.
[[nodiscard]] std::chrono::nanoseconds cpu_time_of(pid_t pid);

/// A process found by its environment.
struct TaggedProcess {
  pid_t pid = 0;
  std::string run_id;
  std::string supervisor;  ///< text of its ProcessIdentity, or empty
};

/// This user's processes that carry a run id in their environment.
[[nodiscard]] std::vector<TaggedProcess> tagged_processes();
/// Those of one run.
[[nodiscard]] std::vector<pid_t> processes_of_run(std::string_view run_id);

/// Kills all processes of a run by their environment, again until none is found or `rounds` have passed. Processes that
/// are in uninterruptible sleep may be left; returns how many were killed.
std::size_t kill_processes_of_run(std::string_view run_id, int rounds = 200);

}  // namespace nocturne::measure
