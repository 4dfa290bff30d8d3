#include "measure/artifact/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string_view>
#include <system_error>

namespace nocturne::measure {
namespace {

// The process between us and a compiler or an installer: keeps what that starts, so that nothing of it outlives us.
//
// It is a child subreaper: whoever leaves the command's process group, session and parents becomes its child. It ends
// them all where it is told to (SIGTERM), and where the thread that made it is gone, killed as it may be. Where the
// command ends by itself, only its process group goes with it: some leave a service behind on purpose.

/// All made before the fork: afterwards nothing may be allocated.
struct KeptCommand {
  char* const* argv = nullptr;  ///< argv[0] is an absolute path
  char* const* environment = nullptr;
  const char* folder = nullptr;     ///< working directory; null: as it is
  const cpu_set_t* cpus = nullptr;  ///< null: as they are
  int input = -1;                   ///< its stdin; -1: there is nothing to read
  int output = -1, errors = -1;     ///< its stdout, its stderr
  int polite_ms = 0;                ///< between SIGTERM and the end of all that it started
};

/// How it ended, as the keeper saw it. Nothing is said where the keeper was told to end it, or was killed itself.
struct KeptEnd {
  int status = 0;  ///< status word of waitpid(2)
  int error = 0;   ///< errno: it could not be started
};

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
  // A compiler or installer that asks a question gets an end of file, not the user's terminal.
  dup2(command.input >= 0 ? command.input : open("/dev/null", O_RDONLY), STDIN_FILENO);
  dup2(command.output, STDOUT_FILENO);
  dup2(command.errors, STDERR_FILENO);
  if (command.cpus != nullptr) sched_setaffinity(0, sizeof *command.cpus, command.cpus);  // a cpuset may forbid it
  if (command.folder == nullptr || chdir(command.folder) == 0)
    execve(command.argv[0], command.argv, command.environment);
  // strerror() may allocate, which is not safe here.
  const char* reason = strerrordesc_np(errno);
  for (const char* part : {static_cast<const char*>(command.argv[0]), ": ", reason, "\n"})
    if (write(STDERR_FILENO, part, std::strlen(part)) < 0) break;
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

// Until it ends by itself or the time is over.
void ask_to_end(pid_t child, int polite_ms) {
  if (polite_ms <= 0) return;
  kill(child, SIGTERM);
  for (long waited = 0; waited < polite_ms; waited += kRound.tv_nsec / 1'000'000) {
    pid_t reaped = 0;
    while ((reaped = waitpid(-1, nullptr, WNOHANG)) > 0)
      if (reaped == child) return;
    nanosleep(&kRound, nullptr);
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

// Handlers of the process that was forked would act for it: theirs are the pipes that it listens on.
void forget_handlers() {
  for (int each = 1; each < NSIG; ++each) {
    struct sigaction action{};
    if (sigaction(each, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) signal(each, SIG_DFL);
  }
}

/// All signals are blocked when it begins.
[[noreturn]] void keep(const KeptCommand& command, pid_t parent, int report) {
  setpgid(0, 0);
  sigset_t awaited;
  sigemptyset(&awaited);
  sigaddset(&awaited, SIGCHLD);
  sigaddset(&awaited, SIGTERM);
  forget_handlers();
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
  // Held open here, the parent's pipes and locks would outlive the parent by as long as the command runs.
  close_all_but(report);
  for (bool ended = child < 0; !ended;) {
    if (sigwaitinfo(&awaited, nullptr) == SIGTERM) {
      ask_to_end(child, command.polite_ms);
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

/// Forks the keeper, a process group of its own. `report`: the writing end of a pipe on which it puts a KeptEnd, with
/// close-on-exec. Returns its pid, or -1 and errno.
pid_t start_keeper(const KeptCommand& command, int report) {
  const pid_t parent = getpid();
  // What is sent to the keeper at once waits until it listens; a handler of ours would take it for our own.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t keeper = fork();
  const int error = errno;
  if (keeper == 0) keep(command, parent, report);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return keeper;
}

/// Tells it to end everything, waits for that (at most twelve seconds, then it is killed) and reaps it. `handle`: its
/// pidfd, or -1.
void end_keeper(pid_t keeper, int handle) {
  kill(keeper, SIGTERM);
  // A keeper that somebody has stopped hears SIGTERM only once it goes on.
  kill(keeper, SIGCONT);
  pollfd ended{.fd = handle, .events = POLLIN, .revents = 0};
  if (handle < 0 || poll(&ended, 1, kPatienceMs) <= 0) kill(keeper, SIGKILL);  // the command dies with it
  while (waitpid(keeper, nullptr, 0) < 0 && errno == EINTR) {
  }
}

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kStopLatency{100};
constexpr std::chrono::milliseconds kMostPolite{10'000};  // less than the keeper has (kPatienceMs)
constexpr std::size_t kMostOutput = 16u << 20;

/// What would make two equal builds differ without being in the key, or replace the compiler behind our back.
constexpr std::array<std::string_view, 14> kRemoved = {"CPATH",
                                                       "C_INCLUDE_PATH",
                                                       "CPLUS_INCLUDE_PATH",
                                                       "OBJC_INCLUDE_PATH",
                                                       "LIBRARY_PATH",
                                                       "LD_RUN_PATH",
                                                       "COMPILER_PATH",
                                                       "GCC_EXEC_PREFIX",
                                                       "LD_PRELOAD",
                                                       "DEPENDENCIES_OUTPUT",
                                                       "SUNPRO_DEPENDENCIES",
                                                       "CCC_OVERRIDE_OPTIONS",
                                                       "LANGUAGE",
                                                       "LC_ALL"};

bool matches(std::string_view pattern, std::string_view name) {
  return pattern.ends_with('*') ? name.starts_with(pattern.substr(0, pattern.size() - 1)) : name == pattern;
}

std::vector<std::string> clean_environment(const Command& command) {
  std::vector<std::string> result;
  // Messages are searched for English words.
  if (!command.whole_environment && !command.variables.contains("LC_ALL")) result.emplace_back("LC_ALL=C");
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('='));
    const bool removed = (!command.whole_environment && std::ranges::find(kRemoved, name) != kRemoved.end()) ||
                         std::ranges::any_of(command.unset, [name](const auto& u) { return matches(u, name); });
    if (!removed && !command.variables.contains(std::string(name))) result.emplace_back(text);
  }
  for (const auto& [name, value] : command.variables) result.push_back(name + '=' + value);
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

/// What the keeper said before it ended.
CommandResult read_end(int report) {
  KeptEnd end;
  ssize_t count = 0;
  while ((count = read(report, &end, sizeof end)) < 0 && errno == EINTR) {
  }
  if (count != sizeof end) return {CommandEnd::Signalled, SIGKILL};  // it was killed, and the command with it
  if (end.error != 0) return {CommandEnd::NotStarted, end.error};
  if (WIFSIGNALED(end.status)) return {CommandEnd::Signalled, WTERMSIG(end.status)};
  return {CommandEnd::Exited, WEXITSTATUS(end.status)};
}

CommandResult wait_for(pid_t keeper, int handle, int report, Clock::time_point deadline, const std::stop_token& stop) {
  while (true) {
    if (stop.stop_requested()) {
      end_keeper(keeper, handle);
      return {CommandEnd::Stopped, 0};
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) {
      end_keeper(keeper, handle);
      return {CommandEnd::DeadlinePassed, 0};
    }
    pollfd ready{.fd = handle, .events = POLLIN, .revents = 0};
    if (poll(&ready, 1, static_cast<int>(std::min(left, kStopLatency).count())) <= 0) continue;
    while (waitpid(keeper, nullptr, 0) < 0)
      if (errno != EINTR) return {CommandEnd::NotStarted, errno};
    return read_end(report);
  }
}

/// A descriptor that closes itself; -1: the name is empty, or errno says why.
class File {
 public:
  File(const std::filesystem::path& name, int flags)
      : descriptor_(name.empty() ? -1 : open(name.c_str(), flags | O_CLOEXEC, 0644)) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

CommandResult run_into(const Command& command, int output, Clock::time_point deadline, const std::stop_token& stop) {
  const File input(command.input, O_RDONLY);
  if (input.descriptor() < 0 && !command.input.empty()) return {CommandEnd::NotStarted, errno};
  const File errors(command.errors, O_WRONLY | O_CREAT | O_APPEND);
  if (errors.descriptor() < 0 && !command.errors.empty()) return {CommandEnd::NotStarted, errno};
  std::vector<std::string> arguments = command.argv;
  std::vector<std::string> variables = clean_environment(command);
  const std::vector<char*> argv = pointers(arguments);
  const std::vector<char*> environment = pointers(variables);
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  for (const int cpu : command.cpus) CPU_SET(static_cast<std::size_t>(cpu), &cpus);
  std::array<int, 2> report{-1, -1};
  if (pipe2(report.data(), O_CLOEXEC) != 0) return {CommandEnd::NotStarted, errno};

  const pid_t keeper = start_keeper({.argv = argv.data(),
                                     .environment = environment.data(),
                                     .folder = command.folder.empty() ? nullptr : command.folder.c_str(),
                                     .cpus = command.cpus.empty() ? nullptr : &cpus,
                                     .input = input.descriptor(),
                                     .output = output,
                                     .errors = errors.descriptor() < 0 ? output : errors.descriptor(),
                                     .polite_ms = static_cast<int>(std::min(command.polite, kMostPolite).count())},
                                    report[1]);
  CommandResult result{CommandEnd::NotStarted, errno};
  // With our own copy open the pipe would never end, and a keeper that was killed could not be told from a silent one.
  close(report[1]);
  if (keeper > 0) {
    const int handle =
        static_cast<int>(syscall(SYS_pidfd_open, keeper, 0));  // glibc 2.36 declares no C linkage for its own
    if (handle < 0) {
      result.status = errno;
      end_keeper(keeper, handle);
    } else {
      result = wait_for(keeper, handle, report[0], deadline, stop);
      close(handle);
    }
  }
  close(report[0]);
  return result;
}

}  // namespace

std::string to_text(const CommandResult& result) {
  switch (result.end) {
    case CommandEnd::Exited:
      return fmt::format("exit code {}", result.status);
    case CommandEnd::Signalled:
      return fmt::format("killed by signal {}", result.status);
    case CommandEnd::DeadlinePassed:
      return "took longer than allowed";
    case CommandEnd::Stopped:
      return "stopped";
    case CommandEnd::NotStarted:
      return fmt::format("could not be started: {}", strerrordesc_np(result.status));
  }
  return "";
}

CommandResult run_command(const Command& command, const std::filesystem::path& output, Clock::time_point deadline,
                          const std::stop_token& stop) {
  const File file(output, O_WRONLY | O_CREAT | O_APPEND);
  if (file.descriptor() < 0) return {CommandEnd::NotStarted, errno};
  return run_into(command, file.descriptor(), deadline, stop);
}

std::expected<std::string, std::string> command_output(const Command& command, Clock::time_point deadline,
                                                       const std::stop_token& stop) {
  const std::string name = command.argv.empty() ? std::string() : command.argv.front();
  // A file, not a pipe: a command that says much never blocks on us.
  const int file = memfd_create("nocturne-output", MFD_CLOEXEC);
  if (file < 0) return std::unexpected(fmt::format("{}: {}", name, strerrordesc_np(errno)));
  const CommandResult result = run_into(command, file, deadline, stop);
  std::string text;
  std::array<char, 65536> buffer;
  lseek(file, 0, SEEK_SET);
  for (ssize_t got = 0; text.size() < kMostOutput && (got = read(file, buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), static_cast<std::size_t>(got));
  close(file);
  if (result.ok()) return text;
  return std::unexpected(fmt::format("{}: {}\n{}", name, to_text(result), text));
}

bool is_nearly_full(const std::filesystem::path& folder) {
  constexpr std::uintmax_t kNearlyFullBytes = 1 << 20;
  std::error_code error;
  const auto space = std::filesystem::space(folder, error);
  return !error && space.available < kNearlyFullBytes;
}

}  // namespace nocturne::measure
