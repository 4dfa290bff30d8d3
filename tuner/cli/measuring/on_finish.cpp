#include "tuner/cli/measuring/on_finish.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ostream>
#include <sstream>
#include <string_view>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "tuner/campaign/answer/stored_gain.hpp"
#include "tuner/cli/choice/value_option.hpp"

namespace nocturne::cli {
namespace {

/// Enough to send a mail or a small file; whatever takes longer goes on by itself.
constexpr std::chrono::minutes kPatience{10};

template <typename Number>
std::string number_or_empty(const std::optional<Number>& number) {
  return number ? fmt::format("{}", *number) : std::string();
}

std::string percent_or_empty(const std::optional<double>& percent) {
  return percent ? fmt::format("{:.2f}", *percent) : std::string();
}

/// The environment of this process with the variables laid over it, "NAME=VALUE" each.
std::vector<std::string> environment_with(const std::map<std::string, std::string>& variables) {
  std::vector<std::string> entries;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (!variables.contains(std::string(text.substr(0, text.find('='))))) entries.emplace_back(text);
  }
  for (const auto& [name, value] : variables)
    if (!value.empty()) entries.push_back(name + "=" + value);
  return entries;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

int spawn_program(const std::string& program, char* const* argv, char* const* environment, pid_t& pid) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);  // ours may be a JSON document
  sigset_t none, ordinary;
  sigemptyset(&none);
  sigemptyset(&ordinary);
  for (const int signal : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGTSTP}) sigaddset(&ordinary, signal);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  ::posix_spawnattr_setsigdefault(&attributes, &ordinary);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  const int error = ::posix_spawn(&pid, program.c_str(), &files, &attributes, argv, environment);
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&attributes);
  return error;
}

/// False: it still runs when `patience` is over. A kernel without pidfd (before 5.3) waits for as long as it takes.
bool ends_within(pid_t pid, std::chrono::milliseconds patience) {
  const int file = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (file < 0) return true;
  const auto end = std::chrono::steady_clock::now() + patience;
  int ready = 0;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    pollfd ended{.fd = file, .events = POLLIN, .revents = 0};
    ready = ::poll(&ended, 1, left.count() > 0 ? static_cast<int>(left.count()) : 0);
    if (ready >= 0 || errno != EINTR) break;
  }
  ::close(file);
  return ready != 0;
}

}  // namespace

void Finish::know(const tuner::Answer& answer) {
  campaign = answer.campaign.name;
  generation = answer.campaign.generation;
  if (answer.best) {
    best_trial = answer.best->trial.number;
    if (answer.best->trial.estimate) best_seconds = answer.best->trial.estimate->value;
  }
  if (answer.verdict) {
    const tuner::StoredGain gain = tuner::gain_of(*answer.verdict, "", false);
    verdict = gain.verdict;
    gain_percent = gain.gain_percent;
    gain_low_percent = gain.low_percent;
    gain_high_percent = gain.high_percent;
  }
}

void add_on_finish(CLI::App& subcommand, OnFinish& on_finish) {
  add_value(subcommand, "--on-finish", on_finish.program, "PROGRAM",
            "Start this program when the session is over, however it ended");
  add_value(subcommand, "--on-finish-arg", on_finish.arguments, "ARGUMENT",
            "An argument for it; may be given again (one that begins with '-': --on-finish-arg=-x)")
      ->allow_extra_args(false);
}

std::expected<std::string, std::string> find_on_finish(const OnFinish& on_finish) {
  const std::string& name = on_finish.program;
  if (name.empty()) {
    if (on_finish.arguments.empty()) return std::string();
    return std::unexpected("--on-finish-arg is an argument of --on-finish, and that is missing");
  }
  const auto executable = [](const std::string& path) { return ::access(path.c_str(), X_OK) == 0; };
  if (name.find('/') != std::string::npos) {
    if (executable(name)) return name;
    return std::unexpected(fmt::format("--on-finish: '{}' cannot be executed: {}", name, std::strerror(errno)));
  }
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
    if (executable(candidate)) return candidate;
  }
  return std::unexpected(fmt::format("--on-finish: there is no program '{}' in PATH", name));
}

void run_on_finish(const Context& context, const OnFinish& on_finish, const std::string& path, const Finish& finish,
                   ExitCode code) {
  if (path.empty() || finish.campaign.empty()) return;
  const auto ran = run_program(path, on_finish.arguments, finish_variables(finish, code), kPatience);
  if (!ran) *context.err << "nocturne tune: --on-finish: " << ran.error() << '\n';
}

std::map<std::string, std::string> finish_variables(const Finish& finish, ExitCode code) {
  return {{"NOCTURNE_CAMPAIGN", finish.campaign},
          {"NOCTURNE_GENERATION", number_or_empty(finish.generation)},
          {"NOCTURNE_DATABASE", finish.database},
          {"NOCTURNE_ENDING", finish.ending},
          {"NOCTURNE_BECAUSE", finish.because},
          {"NOCTURNE_EXIT_CODE", fmt::format("{}", number(code))},
          {"NOCTURNE_BEST_TRIAL", number_or_empty(finish.best_trial)},
          {"NOCTURNE_BEST_SECONDS", number_or_empty(finish.best_seconds)},
          {"NOCTURNE_VERDICT", finish.verdict},
          {"NOCTURNE_GAIN_PERCENT", percent_or_empty(finish.gain_percent)},
          {"NOCTURNE_GAIN_LOW_PERCENT", percent_or_empty(finish.gain_low_percent)},
          {"NOCTURNE_GAIN_HIGH_PERCENT", percent_or_empty(finish.gain_high_percent)},
          {"NOCTURNE_PROFILE", finish.profile},
          {"NOCTURNE_REPORT", finish.report}};
}

std::expected<void, std::string> run_program(const std::string& program, const std::vector<std::string>& arguments,
                                             const std::map<std::string, std::string>& variables,
                                             std::chrono::milliseconds patience) {
  std::vector<std::string> words = {program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> entries = environment_with(variables);
  pid_t pid = -1;
  if (const int error = spawn_program(program, pointers_to(words).data(), pointers_to(entries).data(), pid); error != 0)
    return std::unexpected(fmt::format("{} could not be started: {}", program, std::strerror(error)));
  if (!ends_within(pid, patience)) {
    return std::unexpected(fmt::format("{} (process {}) still runs after {} s and is left to itself", program, pid,
                                       std::chrono::ceil<std::chrono::seconds>(patience).count()));
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return std::unexpected(fmt::format("{}: {}", program, std::strerror(errno)));
  if (WIFSIGNALED(status)) return std::unexpected(fmt::format("{} was ended by signal {}", program, WTERMSIG(status)));
  if (WEXITSTATUS(status) == 0) return {};
  return std::unexpected(fmt::format("{} ended with exit code {}", program, WEXITSTATUS(status)));
}

}  // namespace nocturne::cli
