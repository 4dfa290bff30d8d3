#pragma once

/// Who a process is, in a way that outlives it: a pid alone is given to others, and starts again after a boot.

#include <cstdint>
#include <optional>
#include <string>

namespace nocturne::db {

struct ProcessIdentity {
  std::int64_t pid = 0;
  std::int64_t start_ticks = 0;  ///< field 22 of /proc/PID/stat, clock ticks since boot (proc(5))
  std::string boot_id;           ///< /proc/sys/kernel/random/boot_id
  std::string pid_namespace;     ///< link target of /proc/self/ns/pid
  std::string host;              ///< for people
  /// Digest of what sets this machine apart from every other one of its network: machine-id(5) and the hardware
  /// addresses of its network cards. Empty: not known. So it is inside a container, whose image may run on many
  /// machines.
  std::string machine{};
};

[[nodiscard]] ProcessIdentity this_process();

enum class Life {
  Alive,
  Dead,
  Unknown,  ///< it runs, or ran, in another container of this machine, where we cannot look
};

/// A zombie is dead: it will not write any more. For what lies on a file system of this machine's own.
[[nodiscard]] Life life_of(const ProcessIdentity& process);

/// The state letter of /proc/PID/stat (proc(5)): 'T' is stopped. Empty: it has ended, or cannot be looked at.
[[nodiscard]] std::optional<char> state_of_process(std::int64_t pid);

/// Whether it is known to be dead because its machine is the one of `self`, which was started again since. Wherever it
/// is read: another boot alone may be another machine. Pure.
[[nodiscard]] bool ended_with_its_boot(const ProcessIdentity& process, const ProcessIdentity& self);

}  // namespace nocturne::db
