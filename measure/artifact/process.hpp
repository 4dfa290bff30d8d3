#pragma once

/// Starts a compiler, an installer or another program and waits for it: with a deadline, a stop token, and its output
/// in a file. Thread-safe.
///
/// Each command is the leader of a process group, which goes with it. Where it is stopped, takes too long, or the
/// thread that started it is gone (a killed tuner), all that it started is killed, in whatever group (its keeper).

#include <chrono>
#include <expected>
#include <filesystem>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

namespace nocturne::measure {

struct Command {
  std::vector<std::string> argv;                   ///< argv[0] is an absolute path
  std::filesystem::path folder{};                  ///< working directory; empty: as it is
  std::vector<int> cpus{};                         ///< empty: as they are
  std::map<std::string, std::string> variables{};  ///< set, whatever the caller's environment says
  std::vector<std::string> unset{};                ///< variables taken out; "PIP_*": all that begin so
  std::filesystem::path input{};                   ///< its stdin; empty: there is nothing to read
  std::filesystem::path errors{};                  ///< its stderr is appended here; empty: with stdout
  /// Where it is ended before its time it is sent SIGTERM first, alone, and has so long to end what it started
  /// elsewhere; at most ten seconds. Zero: it is killed at once.
  std::chrono::milliseconds polite{};
  bool whole_environment = false;  ///< the caller's as it is, but for `variables` and `unset`: it is no compiler
};

enum class CommandEnd { Exited, Signalled, DeadlinePassed, Stopped, NotStarted };

struct CommandResult {
  CommandEnd end = CommandEnd::NotStarted;
  int status = 0;  ///< exit code, number of the signal, or errno
  [[nodiscard]] bool ok() const { return end == CommandEnd::Exited && status == 0; }
};

/// "exit code 1", "killed by signal 11", "took longer than allowed", …
[[nodiscard]] std::string to_text(const CommandResult& result);

/// stdout and stderr are appended to the file `output`. Unless it is the whole one, the environment is the caller's
/// without what silently changes a compiler's answer (CPATH, LIBRARY_PATH, GCC_EXEC_PREFIX, LD_PRELOAD, …), in the C
/// locale.
[[nodiscard]] CommandResult run_command(const Command& command, const std::filesystem::path& output,
                                        std::chrono::steady_clock::time_point deadline,
                                        const std::stop_token& stop = {});

/// What a short command prints (stdout and stderr together, at most 16 MiB), if it ends with exit code 0; else a
/// sentence.
[[nodiscard]] std::expected<std::string, std::string> command_output(const Command& command,
                                                                     std::chrono::steady_clock::time_point deadline,
                                                                     const std::stop_token& stop = {});

// Whether a program that failed did so for want of room. It may have had none to say so, either.

/// Less than 1 MiB is free on the disk of this folder. False where that cannot be asked.
[[nodiscard]] bool is_nearly_full(const std::filesystem::path& folder);

}  // namespace nocturne::measure
