#include "measure/artifact/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace nocturne::measure {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kStopLatency{100};
constexpr std::size_t kMostOutput = 16u << 20;
constexpr int kCouldNotExecute = 127;

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
  if (!command.variables.contains("LC_ALL")) result.emplace_back("LC_ALL=C");
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('='));
    const bool removed = std::ranges::find(kRemoved, name) != kRemoved.end() ||
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

/// In the child, between fork and exec: only calls that are safe there.
[[noreturn]] void become(char* const* argv, char* const* environment, const char* folder, const cpu_set_t* cpus,
                         int output, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kCouldNotExecute);  // died before the line above
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int null = open("/dev/null", O_RDONLY);
  dup2(null, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  if (cpus != nullptr) sched_setaffinity(0, sizeof *cpus, cpus);  // a wish: a cpuset may forbid it
  if (folder == nullptr || chdir(folder) == 0) execve(argv[0], argv, environment);
  const char* reason = strerrordesc_np(errno);
  if (write(STDERR_FILENO, argv[0], std::strlen(argv[0])) < 0 || write(STDERR_FILENO, ": ", 2) < 0 ||
      write(STDERR_FILENO, reason, std::strlen(reason)) < 0 || write(STDERR_FILENO, "\n", 1) < 0) {
    _exit(kCouldNotExecute);
  }
  _exit(kCouldNotExecute);
}

/// Kills the group and reaps its leader.
void end_group(pid_t leader) {
  kill(-leader, SIGKILL);
  kill(leader, SIGKILL);  // it may not have made its group yet
  while (waitpid(leader, nullptr, 0) < 0 && errno == EINTR) {
  }
}

CommandResult wait_for(pid_t child, int handle, Clock::time_point deadline, const std::stop_token& stop) {
  while (true) {
    if (stop.stop_requested()) {
      end_group(child);
      return {CommandEnd::Stopped, 0};
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) {
      end_group(child);
      return {CommandEnd::DeadlinePassed, 0};
    }
    pollfd ready{.fd = handle, .events = POLLIN, .revents = 0};
    if (poll(&ready, 1, static_cast<int>(std::min(left, kStopLatency).count())) <= 0) continue;
    int status = 0;
    while (waitpid(child, &status, 0) < 0) {
      if (errno != EINTR) return {CommandEnd::NotStarted, errno};
    }
    kill(-child, SIGKILL);  // whatever it left behind in its group
    if (WIFSIGNALED(status)) return {CommandEnd::Signalled, WTERMSIG(status)};
    return {CommandEnd::Exited, WEXITSTATUS(status)};
  }
}

CommandResult run_into(const Command& command, int output, Clock::time_point deadline, const std::stop_token& stop) {
  std::vector<std::string> arguments = command.argv;
  std::vector<std::string> variables = clean_environment(command);
  const std::vector<char*> argv = pointers(arguments);
  const std::vector<char*> environment = pointers(variables);
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  for (const int cpu : command.cpus) CPU_SET(static_cast<std::size_t>(cpu), &cpus);
  const char* folder = command.folder.empty() ? nullptr : command.folder.c_str();

  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) return {CommandEnd::NotStarted, errno};
  if (child == 0)
    become(argv.data(), environment.data(), folder, command.cpus.empty() ? nullptr : &cpus, output, parent);
  setpgid(child, child);  // in both: whoever comes first
  const int handle =
      static_cast<int>(syscall(SYS_pidfd_open, child, 0));  // glibc 2.36 declares no C linkage for its own
  if (handle < 0) {
    const int error = errno;
    end_group(child);
    return {CommandEnd::NotStarted, error};
  }
  const CommandResult result = wait_for(child, handle, deadline, stop);
  close(handle);
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
  const int file = open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) return {CommandEnd::NotStarted, errno};
  const CommandResult result = run_into(command, file, deadline, stop);
  close(file);
  return result;
}

std::expected<std::string, std::string> command_output(const Command& command, Clock::time_point deadline,
                                                       const std::stop_token& stop) {
  const std::string name = command.argv.empty() ? std::string() : command.argv.front();
  const int file = memfd_create("nocturne-output", MFD_CLOEXEC);
  if (file < 0) return std::unexpected(fmt::format("{}: {}", name, strerrordesc_np(errno)));
  const CommandResult result = run_into(command, file, deadline, stop);
  std::string text;
  std::array<char, 65536> buffer;
  lseek(file, 0, SEEK_SET);
  for (ssize_t got = 0; text.size() < kMostOutput && (got = read(file, buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  close(file);
  if (result.ok()) return text;
  return std::unexpected(fmt::format("{}: {}\n{}", name, to_text(result), text));
}

}  // namespace nocturne::measure
