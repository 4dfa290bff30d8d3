#include "measure/artifact/keeper.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <initializer_list>

namespace nocturne::measure {
namespace {

constexpr int kCouldNotExecute = 127;

// What does not die within this time sits in uninterruptible sleep.
constexpr int kMostRounds = 2'000;
constexpr timespec kRound{.tv_sec = 0, .tv_nsec = 5'000'000};
constexpr int kPatienceMs = 12'000;

// Everything from here to start_keeper() runs between fork and exec, where other threads of ours may hold any lock:
// only calls that are safe there.

[[noreturn]] void become(const KeptCommand& command, pid_t keeper) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != keeper) _exit(kCouldNotExecute);  // died before the line above
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int null = open("/dev/null", O_RDONLY);
  dup2(null, STDIN_FILENO);
  dup2(command.output, STDOUT_FILENO);
  dup2(command.output, STDERR_FILENO);
  if (command.cpus != nullptr) sched_setaffinity(0, sizeof *command.cpus, command.cpus);  // a cpuset may forbid it
  if (command.folder == nullptr || chdir(command.folder) == 0) {
    execve(command.argv[0], command.argv, command.environment);
  }
  const char* reason = strerrordesc_np(errno);
  for (const char* part : {static_cast<const char*>(command.argv[0]), ": ", reason, "\n"}) {
    if (write(STDERR_FILENO, part, std::strlen(part)) < 0) break;
  }
  _exit(kCouldNotExecute);
}

// The kernel's list of our children, "12 34 "; where it has none (CONFIG_PROC_CHILDREN), the command's group must do.
void kill_children() {
  char text[4096];
  const int file = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  const ssize_t size = read(file, text, sizeof text);
  close(file);
  pid_t pid = 0;
  for (ssize_t i = 0; i < size; ++i) {
    if (text[i] >= '0' && text[i] <= '9') {
      pid = pid * 10 + (text[i] - '0');
      continue;
    }
    if (pid > 0) kill(pid, SIGKILL);
    pid = 0;
  }
}

// Whose parent dies becomes our child, and is found in the next round.
void end_all(pid_t child) {
  for (int round = 0; round < kMostRounds; ++round) {
    kill(-child, SIGKILL);
    kill(child, SIGKILL);  // it may not have made its group yet
    kill_children();
    pid_t reaped = 0;
    while ((reaped = waitpid(-1, nullptr, WNOHANG)) > 0) {
    }
    if (reaped < 0 && errno == ECHILD) return;
    nanosleep(&kRound, nullptr);
  }
}

void close_all_but(int kept) {
  if (kept > 0) close_range(0, static_cast<unsigned>(kept) - 1, 0);
  close_range(static_cast<unsigned>(kept) + 1, ~0U, 0);
}

[[noreturn]] void keep(const KeptCommand& command, pid_t parent, int report) {
  setpgid(0, 0);
  sigset_t all, awaited;
  sigfillset(&all);
  sigemptyset(&awaited);
  sigaddset(&awaited, SIGCHLD);
  sigaddset(&awaited, SIGTERM);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  signal(SIGCHLD, SIG_DFL);  // ignored, the kernel would reap for us
  prctl(PR_SET_NAME, "nocturne-keeper");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(kCouldNotExecute);

  KeptEnd end;
  const pid_t keeper = getpid();
  const pid_t child = _Fork();  // fork() would take locks
  if (child == 0) become(command, keeper);
  if (child < 0) end.error = errno;
  close_all_but(report);
  for (bool ended = child < 0; !ended;) {
    if (sigwaitinfo(&awaited, nullptr) == SIGTERM) {
      end_all(child);
      _exit(0);
    }
    int status = 0;
    for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
      if (pid != child) continue;
      end.status = status;
      ended = true;
    }
  }
  if (child > 0) kill(-child, SIGKILL);  // whatever it left behind in its group
  _exit(write(report, &end, sizeof end) == sizeof end ? 0 : 1);
}

}  // namespace

pid_t start_keeper(const KeptCommand& command, int report) {
  const pid_t parent = getpid();
  const pid_t keeper = fork();
  if (keeper == 0) keep(command, parent, report);
  return keeper;
}

void end_keeper(pid_t keeper, int handle) {
  kill(keeper, SIGTERM);
  kill(keeper, SIGCONT);
  pollfd ended{.fd = handle, .events = POLLIN, .revents = 0};
  if (handle < 0 || poll(&ended, 1, kPatienceMs) <= 0) kill(keeper, SIGKILL);  // the command dies with it
  while (waitpid(keeper, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace nocturne::measure
