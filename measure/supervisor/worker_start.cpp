#include "measure/supervisor/worker_start.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "measure/supervisor/process_tree.hpp"

namespace nocturne::measure {
namespace {

// What the child tells through a pipe that exec closes: silence means success.
struct ChildReport {
  int stage = 0;
  int error = 0;
};

enum Stage { kJoinedNoCgroup = 1, kAffinity, kMemory, kFolder, kExec };

std::vector<std::string> worker_environment(const SuperviseSpec& spec, const std::string& supervisor) {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos) variables[std::string(text.substr(0, equals))] = text.substr(equals + 1);
  }
  for (const auto& name : spec.unset) variables.erase(name);
  for (const auto& [name, value] : spec.environment) variables[name] = value;
  variables[kRunIdVariable] = spec.run_id;
  variables[kSupervisorVariable] = supervisor;
  std::vector<std::string> entries;
  for (const auto& [name, value] : variables) entries.push_back(name + '=' + value);
  return entries;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (auto& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

struct PreparedChild {
  std::vector<char*> argv, environment;
  cpu_set_t cpus;
  bool pin = false;
  const MemoryPolicy* memory = nullptr;
  const char* folder = "";
  pid_t supervisor = 0;
  int log = -1, report = -1, null = -1;
  const Cgroup* cgroup = nullptr;
};

void tell(int pipe, int stage, int error) {
  const ChildReport report{stage, error};
  (void)!::write(pipe, &report, sizeof report);
}

// Runs in the child. Only one thread forked, so ordinary calls are safe; it allocates nothing all the same.
[[noreturn]] void become_worker(const PreparedChild& prepared) {
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != prepared.supervisor) ::_exit(127);  // it died before the line above
  if (prepared.cgroup != nullptr && !prepared.cgroup->join()) tell(prepared.report, kJoinedNoCgroup, errno);
  // When memory runs out, the worker goes first, not the tuner or the user's other programs.
  if (const int score = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC); score >= 0) {
    (void)!::write(score, "1000", 4);
    ::close(score);
  }
  if (prepared.pin && ::sched_setaffinity(0, sizeof prepared.cpus, &prepared.cpus) != 0) {
    tell(prepared.report, kAffinity, errno);
    ::_exit(127);
  }
  if (const int error = set_memory_policy(*prepared.memory); error != 0) {
    tell(prepared.report, kMemory, error);
    ::_exit(127);
  }
  if (::chdir(prepared.folder) != 0) {
    tell(prepared.report, kFolder, errno);
    ::_exit(127);
  }
  ::dup2(prepared.null, STDIN_FILENO);
  ::dup2(prepared.log, STDOUT_FILENO);
  ::dup2(prepared.log, STDERR_FILENO);
  // An ignored signal stays ignored through exec: the worker shall begin as from a shell.
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execvpe(prepared.argv[0], prepared.argv.data(), prepared.environment.data());
  tell(prepared.report, kExec, errno);
  ::_exit(127);
}

std::string describe(const ChildReport& report, const SuperviseSpec& spec) {
  const char* why = std::strerror(report.error);
  switch (report.stage) {
    case kAffinity:
      return fmt::format("cannot run on the CPUs asked for: {}", why);
    case kMemory:
      return fmt::format("cannot set the memory policy '{}' on nodes {}: {}", spec.memory.mode,
                         fmt::join(spec.memory.nodes, ","), why);
    case kFolder:
      return fmt::format("cannot enter {}: {}", spec.folder, why);
    default:
      return fmt::format("cannot start {}: {}", spec.argv.empty() ? "" : spec.argv.front(), why);
  }
}

}  // namespace

StartedWorker start_worker(const SuperviseSpec& spec, const std::string& supervisor,
                           const std::optional<Cgroup>& cgroup) {
  StartedWorker started;
  std::array<int, 2> log{-1, -1};
  std::array<int, 2> report{-1, -1};
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (spec.argv.empty() || null < 0 || ::pipe2(log.data(), O_CLOEXEC) != 0 || ::pipe2(report.data(), O_CLOEXEC) != 0) {
    started.error = spec.argv.empty() ? "no command was given" : fmt::format("no pipe: {}", std::strerror(errno));
    return started;
  }

  std::vector<std::string> argv = spec.argv;
  std::vector<std::string> environment = worker_environment(spec, supervisor);
  PreparedChild prepared;
  prepared.argv = pointers(argv);
  prepared.environment = pointers(environment);
  CPU_ZERO(&prepared.cpus);
  for (const int cpu : spec.cpus)
    if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_SET(static_cast<std::size_t>(cpu), &prepared.cpus);
  prepared.pin = !spec.cpus.empty();
  prepared.memory = &spec.memory;
  prepared.folder = spec.folder.c_str();
  prepared.supervisor = ::getpid();
  prepared.log = log[1];
  prepared.report = report[1];
  prepared.null = null;
  prepared.cgroup = cgroup ? &*cgroup : nullptr;

  started.pid = ::fork();
  if (started.pid == 0) become_worker(prepared);
  const int fork_error = errno;
  ::close(log[1]);
  ::close(report[1]);
  ::close(null);
  started.log_pipe = log[0];
  if (started.pid < 0) started.error = fmt::format("cannot fork: {}", std::strerror(fork_error));

  started.in_cgroup = cgroup.has_value();
  ChildReport told;
  // The pipe closes at a successful exec: its end without a word is the good news.
  while (started.pid > 0 && ::read(report[0], &told, sizeof told) == sizeof told) {
    if (told.stage == kJoinedNoCgroup) {
      started.in_cgroup = false;
      continue;
    }
    started.error = describe(told, spec);
  }
  ::close(report[0]);
  if (started.pid > 0 && !started.error.empty()) {
    ::waitpid(started.pid, nullptr, 0);
    started.pid = -1;
  }
  return started;
}

}  // namespace nocturne::measure
