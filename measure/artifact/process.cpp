#include "measure/artifact/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "measure/artifact/keeper.hpp"

namespace nocturne::measure {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kStopLatency{100};
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
    while (waitpid(keeper, nullptr, 0) < 0) {
      if (errno != EINTR) return {CommandEnd::NotStarted, errno};
    }
    return read_end(report);
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
  std::array<int, 2> report{-1, -1};
  if (pipe2(report.data(), O_CLOEXEC) != 0) return {CommandEnd::NotStarted, errno};

  const pid_t keeper = start_keeper({.argv = argv.data(),
                                     .environment = environment.data(),
                                     .folder = command.folder.empty() ? nullptr : command.folder.c_str(),
                                     .cpus = command.cpus.empty() ? nullptr : &cpus,
                                     .output = output},
                                    report[1]);
  CommandResult result{CommandEnd::NotStarted, errno};
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
