#pragma once

/// The process between us and a compiler or an installer: keeps what that starts, so that nothing of it outlives us.
///
/// It is a child subreaper: whoever leaves the command's process group, session and parents becomes its child. It ends
/// them all where it is told to (SIGTERM), and where the thread that made it is gone, killed as it may be. Where the
/// command ends by itself, only its process group goes with it: some leave a service behind on purpose.

#include <sched.h>
#include <sys/types.h>

namespace nocturne::measure {

/// All made before the fork: afterwards nothing may be allocated.
struct KeptCommand {
  char* const* argv = nullptr;  ///< argv[0] is an absolute path
  char* const* environment = nullptr;
  const char* folder = nullptr;     ///< working directory; null: as it is
  const cpu_set_t* cpus = nullptr;  ///< null: as they are
  int output = -1;                  ///< its stdout and stderr
};

/// How it ended, as the keeper saw it. Nothing is said where the keeper was told to end it, or was killed itself.
struct KeptEnd {
  int status = 0;  ///< status word of waitpid(2)
  int error = 0;   ///< errno: it could not be started
};

/// Forks the keeper, a process group of its own. `report`: the writing end of a pipe on which it puts a KeptEnd, with
/// close-on-exec. Returns its pid, or -1 and errno.
[[nodiscard]] pid_t start_keeper(const KeptCommand& command, int report);

/// Tells it to end everything, waits for that (at most twelve seconds, then it is killed) and reaps it. `handle`: its
/// pidfd, or -1.
void end_keeper(pid_t keeper, int handle);

}  // namespace nocturne::measure
