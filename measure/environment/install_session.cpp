#include "measure/environment/install_session.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "measure/artifact/process.hpp"
#include "measure/container/runtimes.hpp"
#include "measure/environment/debian_packages.hpp"
#include "measure/environment/pip_error.hpp"

namespace nocturne::measure {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFullDisk = "No space left on device";

}  // namespace

void InstallSession::say(const std::string& what) {
  ++step_;
  std::ofstream(places_.log, std::ios::app) << "# " << what << '\n';
  if (options_.progress) options_.progress(fmt::format("{}: {}/{} {}", recipe_.name, step_, steps_, what));
}

/// The machine's pip configuration stays in force (its index, its certificates); what would install elsewhere, or let
/// other packages be seen, does not.
InstallSession::CommandOutput InstallSession::start(std::vector<std::string> arguments, Clock::time_point deadline,
                                                    const std::map<std::string, std::string>& variables,
                                                    const fs::path& folder) const {
  if (!fs::path(arguments.front()).is_absolute()) {
    const auto program = find_tool(arguments.front());
    if (!program) return {.result = {}, .output = arguments.front() + " is not installed\n"};
    arguments.front() = program->string();
  }
  Command command{.argv = std::move(arguments),
                  .folder = folder.empty() ? places_.temporary : folder,
                  .variables = {{"PYTHONNOUSERSITE", "1"},
                                {"PYTHONDONTWRITEBYTECODE", "1"},
                                {"PYTHONIOENCODING", "utf-8"},
                                {"PIP_REQUIRE_VIRTUALENV", "1"},
                                {"DEBIAN_FRONTEND", "noninteractive"},
                                {"TMPDIR", places_.temporary.string()}},
                  .unset = {"PYTHONPATH",      "PYTHONHOME",
                            "PYTHONSTARTUP",   "PYTHONPLATLIBDIR",
                            "VIRTUAL_ENV",     "__PYVENV_LAUNCHER__",
                            "PIP_TARGET",      "PIP_PREFIX",
                            "PIP_ROOT",        "PIP_USER",
                            "PIP_NO_DEPS",     "PIP_DRY_RUN",
                            "PIP_REQUIREMENT", "PIP_CONSTRAINT",
                            "PIP_EDITABLE",    "PIP_SRC",
                            "PIP_LOG",         "PIP_PYTHON",
                            "PIP_QUIET",       "PIP_VERBOSE",
                            "PIP_PLATFORM",    "PIP_IGNORE_INSTALLED"}};
  for (const auto& [name, value] : variables) command.variables.insert_or_assign(name, value);
  std::ofstream(places_.log, std::ios::app) << "+ " << fmt::format("{}", fmt::join(command.argv, " ")) << '\n';
  std::error_code error;
  const auto before = static_cast<std::streamoff>(fs::file_size(places_.log, error));
  const CommandResult result = run_command(command, places_.log, std::min(deadline, deadline_), stop_);
  std::ifstream in(places_.log, std::ios::binary);
  in.seekg(error ? 0 : before);
  return {result, std::string(std::istreambuf_iterator<char>(in), {})};
}

std::vector<std::string> InstallSession::pip_options() const {
  std::vector<std::string> options = {"--no-input", "--disable-pip-version-check", "--prefer-binary",
                                      "--progress-bar=off", "--cache-dir=" + places_.downloads.string()};
  if (!options_.wheels.empty())
    options.insert(options.end(), {"--no-index", "--find-links=" + options_.wheels.string()});
  return options;
}

EnvironmentFailure InstallSession::failure(const CommandOutput& ended, std::string_view what,
                                           std::string_view why) const {
  EnvironmentFailure failure{.log_tail = end_of_text(ended.output),
                             .unavailable = false,
                             .interrupted = ended.result.end == CommandEnd::Stopped};
  if (ended.result.end == CommandEnd::Exited) {
    // Who cannot write to the disk cannot write that into the log either.
    const bool full = ended.output.contains(kFullDisk) || is_nearly_full(places_.temporary);
    failure.reason = fmt::format("{}: {}", recipe_.name, full ? explain_pip(kFullDisk, store()) : std::string(why));
    failure.no_room = full;
    failure.unreachable = index_unreachable(ended.output) || mirror_unreachable(ended.output);
  } else if (ended.result.end == CommandEnd::DeadlinePassed) {
    failure.reason =
        fmt::format("{}: {} took longer than allowed; install again, what was downloaded is kept", recipe_.name, what);
  } else {
    failure.reason = fmt::format("{}: {} {}; install again", recipe_.name, what, to_text(ended.result));
  }
  return failure;
}

EnvironmentFailure InstallSession::full_disk() const {
  EnvironmentFailure failure = error(explain_pip(kFullDisk, store()));
  failure.no_room = true;
  return failure;
}

EnvironmentFailure InstallSession::error(std::string_view what) const {
  return {.reason = fmt::format("{}: {}", recipe_.name, what)};
}

}  // namespace nocturne::measure
