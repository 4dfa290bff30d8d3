#pragma once

/// Starts a worker: the part between fork and exec.

#include <sys/types.h>
#include <string>

#include "measure/supervisor/cgroup.hpp"
#include "measure/supervisor/control.hpp"

namespace nocturne::measure {

struct StartedWorker {
  pid_t pid = -1;     ///< -1: it could not be started
  int log_pipe = -1;  ///< reading end of its stdout and stderr
  std::string error;  ///< why not, a sentence
  bool in_cgroup = false;
};

/// Forks the worker into a session of its own: stdin /dev/null, stdout and stderr a pipe, the affinity and the memory
/// policy asked for, dying with this process, the first to be chosen by the kernel when memory runs out. Returns after
/// its exec. `supervisor` is the text of this process's identity, for the worker's environment.
[[nodiscard]] StartedWorker start_worker(const SuperviseSpec& spec, const std::string& supervisor,
                                         const std::optional<Cgroup>& cgroup);

}  // namespace nocturne::measure
