#include "measure/environment/environment_installer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "measure/artifact/process.hpp"
#include "measure/environment/pip_trouble.hpp"
#include "measure/environment/requirement.hpp"

namespace nocturne::measure {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// The last pip for Python 3.6; those that come with 3.6 and 3.7 know no manylinux2014 and resolve by luck.
constexpr const char* kPipForOldPythons = "pip==21.3.1";
constexpr PythonVersion kFirstWithGoodPip{.major = 3, .minor = 8};
constexpr std::chrono::seconds kLongestImport{300};  // a cold 2 GB framework on a slow disk
constexpr std::uintmax_t kNearlyFull = 1 << 20;
constexpr std::string_view kFullDisk = "No space left on device";
// Known to pip 18 already. It compiles to bytecode, or the first import of a trial would.
constexpr std::array kPipOptions = {"--no-input", "--disable-pip-version-check", "--prefer-binary",
                                    "--no-warn-script-location", "--progress-bar=off"};
constexpr const char* kImport = "import importlib, sys\nfor name in sys.argv[1:]: importlib.import_module(name)";

bool is_nearly_full(const fs::path& folder) {
  std::error_code error;
  const auto space = fs::space(folder, error);
  return !error && space.available < kNearlyFull;
}

std::string in_megabytes(std::int64_t bytes) {
  return bytes == 0 ? std::string() : fmt::format(" ({} MB)", bytes / 1'000'000);
}

/// One installation: the commands run one after another, each with its output in the log.
class Installation {
 public:
  Installation(const EnvironmentRecipe& recipe, const InstallOptions& options, const InstallPlaces& places,
               const std::stop_token& stop)
      : recipe_(recipe), options_(options), places_(places), stop_(stop), deadline_(Clock::now() + options.deadline) {}

  std::optional<EnvironmentFailure> run(const PythonInterpreter& python);
  std::expected<std::vector<std::string>, EnvironmentFailure> resolved();

 private:
  [[nodiscard]] fs::path python() const { return places_.folder / "bin/python"; }
  [[nodiscard]] fs::path store() const { return places_.log.parent_path().parent_path(); }
  void say(const std::string& what) {
    ++step_;
    std::ofstream(places_.log, std::ios::app) << "# " << what << '\n';
    if (options_.progress) options_.progress(fmt::format("{}: {}/{} {}", recipe_.name, step_, steps_, what));
  }
  struct Ended {
    CommandResult result;
    std::string output;
  };
  Ended start(std::vector<std::string> arguments, Clock::time_point deadline,
              const std::map<std::string, std::string>& more = {}) const;
  std::optional<EnvironmentFailure> pip(const EnvironmentRecipe::Step& step) const;
  std::optional<EnvironmentFailure> fix(const std::string& name) const;
  std::optional<EnvironmentFailure> import_all() const;
  [[nodiscard]] EnvironmentFailure failure(const Ended& ended, std::string_view what, std::string_view why) const;

  const EnvironmentRecipe& recipe_;
  const InstallOptions& options_;
  const InstallPlaces& places_;
  const std::stop_token& stop_;
  Clock::time_point deadline_;
  std::size_t step_ = 0, steps_ = 0;
};

/// The machine's pip configuration stays in force (its index, its certificates); what would install elsewhere, or let
/// other packages be seen, does not.
Installation::Ended Installation::start(std::vector<std::string> arguments, Clock::time_point deadline,
                                        const std::map<std::string, std::string>& more) const {
  Command command{.argv = std::move(arguments),
                  .folder = places_.temporary,
                  .variables = {{"PYTHONNOUSERSITE", "1"},
                                {"PYTHONDONTWRITEBYTECODE", "1"},
                                {"PYTHONIOENCODING", "utf-8"},
                                {"PIP_REQUIRE_VIRTUALENV", "1"},
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
  for (const auto& [name, value] : more) command.variables.insert_or_assign(name, value);
  std::ofstream(places_.log, std::ios::app) << "+ " << fmt::format("{}", fmt::join(command.argv, " ")) << '\n';
  std::error_code error;
  const auto before = static_cast<std::streamoff>(fs::file_size(places_.log, error));
  const CommandResult result = run_command(command, places_.log, std::min(deadline, deadline_), stop_);
  std::ifstream in(places_.log, std::ios::binary);
  in.seekg(error ? 0 : before);
  return {result, std::string(std::istreambuf_iterator<char>(in), {})};
}

EnvironmentFailure Installation::failure(const Ended& ended, std::string_view what, std::string_view why) const {
  EnvironmentFailure failure{.reason = {},
                             .log_tail = end_of_text(ended.output),
                             .unavailable = false,
                             .interrupted = ended.result.end == CommandEnd::Stopped};
  if (ended.result.end == CommandEnd::Exited) {
    // Who cannot write to the disk cannot write that into the log either.
    const bool full = ended.output.contains(kFullDisk) || is_nearly_full(places_.temporary);
    failure.reason = fmt::format("{}: {}", recipe_.name, full ? explain_pip(kFullDisk, store()) : std::string(why));
  } else if (ended.result.end == CommandEnd::DeadlinePassed) {
    failure.reason =
        fmt::format("{}: {} took longer than allowed; install again, what was downloaded is kept", recipe_.name, what);
  } else {
    failure.reason = fmt::format("{}: {} {}; install again", recipe_.name, what, to_text(ended.result));
  }
  return failure;
}

std::optional<EnvironmentFailure> Installation::pip(const EnvironmentRecipe::Step& step) const {
  std::vector<std::string> arguments = {python().string(), "-m", "pip", "install"};
  arguments.insert(arguments.end(), kPipOptions.begin(), kPipOptions.end());
  arguments.push_back("--cache-dir=" + places_.downloads.string());
  if (step.no_dependencies) arguments.emplace_back("--no-deps");
  arguments.insert(arguments.end(), step.packages.begin(), step.packages.end());
  const Ended ended = start(std::move(arguments), deadline_);
  if (ended.result.ok()) return std::nullopt;
  return failure(ended, "pip", explain_pip(ended.output, store()));
}

std::optional<EnvironmentFailure> Installation::fix(const std::string& name) const {
  const fs::path program = options_.fix_ups / (name + ".py");
  const Ended ended = start({python().string(), "-B", program.string(), places_.folder.string()}, deadline_);
  if (ended.result.ok()) return std::nullopt;
  return failure(ended, "the fix-up " + name, fmt::format("the fix-up {} failed: {}", name, last_line(ended.output)));
}

std::optional<EnvironmentFailure> Installation::import_all() const {
  std::vector<std::string> arguments = {python().string(), "-I", "-c", kImport};
  arguments.insert(arguments.end(), recipe_.imports.begin(), recipe_.imports.end());
  const Ended ended = start(std::move(arguments), Clock::now() + kLongestImport, recipe_.environment);
  if (ended.result.ok()) return std::nullopt;
  const std::string names = fmt::format("{}", fmt::join(recipe_.imports, ", "));
  return failure(ended, "import " + names, fmt::format("import {} fails: {}", names, last_line(ended.output)));
}

std::optional<EnvironmentFailure> Installation::run(const PythonInterpreter& interpreter) {
  std::vector<EnvironmentRecipe::Step> steps = recipe_.steps;
  if (!options_.lock.empty()) steps = {{.packages = options_.lock, .no_dependencies = true}};
  const bool needs_pip = interpreter.version < kFirstWithGoodPip;
  steps_ = 1 + (needs_pip ? 1u : 0u) + steps.size() + recipe_.fix_ups.size() + (recipe_.imports.empty() ? 0u : 1u);

  say("Python " + to_text(interpreter.version));
  const std::string folder = places_.folder.string();
  // In two commands, for venv keeps to itself what ensurepip says.
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{interpreter.program.string(), "-I", "-m", "venv", "--without-pip", folder},
        std::vector<std::string>{python().string(), "-I", "-m", "ensurepip", "--default-pip"}}) {
    const Ended ended = start(command, deadline_);
    if (!ended.result.ok()) return failure(ended, command[3], command[3] + " fails: " + last_line(ended.output));
  }
  if (needs_pip) {
    say(kPipForOldPythons);
    if (auto failed = pip({.packages = {kPipForOldPythons}, .no_dependencies = true})) return failed;
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::string what = options_.lock.empty() ? fmt::format("{}", fmt::join(steps[i].packages, " "))
                                                   : fmt::format("{} packages of the lock", options_.lock.size());
    say(what + (i == 0 ? in_megabytes(recipe_.download_bytes) : std::string()));
    if (auto failed = pip(steps[i])) return failed;
  }
  for (const std::string& name : recipe_.fix_ups) {
    say("fix-up " + name);
    if (auto failed = fix(name)) return failed;
  }
  if (recipe_.imports.empty()) return std::nullopt;
  say(fmt::format("import {}", fmt::join(recipe_.imports, ", ")));
  return import_all();
}

std::expected<std::vector<std::string>, EnvironmentFailure> Installation::resolved() {
  const Ended ended =
      start({python().string(), "-m", "pip", "freeze", "--all", "--disable-pip-version-check"}, deadline_);
  if (!ended.result.ok())
    return std::unexpected(failure(ended, "pip freeze", "pip freeze fails: " + last_line(ended.output)));
  std::vector<std::string> lock;
  std::string_view rest = ended.output;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.contains("==") && is_plain_requirement(line)) lock.emplace_back(line);  // the rest is warnings
  }
  std::ranges::sort(lock);
  return lock;
}

}  // namespace

std::expected<std::vector<std::string>, EnvironmentFailure> install_environment(const EnvironmentRecipe& recipe,
                                                                                const PythonInterpreter& python,
                                                                                const InstallOptions& options,
                                                                                const InstallPlaces& places,
                                                                                const std::stop_token& stop) {
  Installation installation(recipe, options, places, stop);
  if (auto failed = installation.run(python)) return std::unexpected(std::move(*failed));
  return installation.resolved();
}

}  // namespace nocturne::measure
