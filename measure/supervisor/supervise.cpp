#include "measure/supervisor/supervise.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "measure/supervisor/supervisor.hpp"

namespace nocturne::measure {

int supervise(int control, pid_t tuner) {
  ::setsid();  // a terminal's Ctrl-C is the tuner's to decide
  ::umask(077);
  // Blocked before the parent-death signal is asked for, or its default action would end us without cleaning up.
  sigset_t mask;
  sigemptyset(&mask);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1}) sigaddset(&mask, signal);
  ::sigprocmask(SIG_BLOCK, &mask, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGCHLD, SIG_DFL);  // ignored, as some tuners might leave it, the kernel would reap for us
  const int signals = ::signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals < 0 || ::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0 || ::prctl(PR_SET_PDEATHSIG, SIGUSR1) != 0) return 1;
  if (::getppid() != tuner) return 1;  // it died before it could be noticed
  (void)::fcntl(control, F_SETFD, FD_CLOEXEC);
  return Supervisor(control, tuner, signals).serve();
}

}  // namespace nocturne::measure
