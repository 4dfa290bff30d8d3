#include "measure/environment/environment_installer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "measure/artifact/process.hpp"
#include "measure/environment/debian_packages.hpp"
#include "measure/environment/install_session.hpp"
#include "measure/environment/package_hashes.hpp"
#include "measure/environment/pip_error.hpp"
#include "measure/environment/requirement.hpp"
#include "measure/environment/source_build.hpp"
#include "space/file_contents.hpp"
#include "space/folder_entries.hpp"

namespace nocturne::measure {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using StepFailure = std::optional<EnvironmentFailure>;
using Lock = std::expected<std::vector<std::string>, EnvironmentFailure>;

constexpr const char* kPipForOldPythons = "pip==21.3.1";  // the last one for Python 3.6
constexpr std::chrono::seconds kLongestImport{300};       // a cold 2 GB framework on a slow disk
constexpr const char* kImport = "import importlib, sys\nfor name in sys.argv[1:]: importlib.import_module(name)";
constexpr const char* kDistributions =
    "from importlib.metadata import distributions\n"
    "for each in distributions(): print('%s==%s' % (each.metadata['Name'], each.version))";
// Where a package of Debian puts modules for the system's Python, seen from site-packages.
constexpr const char* kDebianModules = "../../../debian/usr/lib/python3/dist-packages";

std::string in_megabytes(std::int64_t bytes) {
  return bytes == 0 ? std::string() : fmt::format(" ({} MB)", bytes / 1'000'000);
}

/// A folder of packages, or nothing.
fs::path site_packages_of(const fs::path& folder) {
  std::error_code error;
  for (const fs::directory_entry& entry : space::entries_of(folder / "lib"))
    if (fs::is_directory(entry.path() / "site-packages", error)) return entry.path() / "site-packages";
  return {};
}

StepFailure make_venv(InstallSession& session, const PythonInterpreter& interpreter, bool with_pip, bool sees_system) {
  session.say("Python " + to_text(interpreter.version));
  const std::string folder = session.places().folder.string();
  // In two commands, for venv keeps to itself what ensurepip says.
  std::vector<std::vector<std::string>> commands = {
      {interpreter.program.string(), "-I", "-m", "venv", "--without-pip", folder}};
  if (sees_system) commands.front().insert(commands.front().end() - 1, "--system-site-packages");
  if (with_pip) commands.push_back({session.python().string(), "-I", "-m", "ensurepip", "--default-pip"});
  for (const std::vector<std::string>& command : commands) {
    const auto ended = session.start(command);
    if (!ended.result.ok())
      return session.failure(ended, command[3], command[3] + " fails: " + last_line(ended.output));
  }
  return std::nullopt;
}

/// Lets an environment see the packages of another, and what the .pth files among them add.
bool see_packages(const fs::path& folder, const fs::path& packages) {
  std::ofstream path(site_packages_of(folder) / "other_environment.pth");
  path << "import site; site.addsitedir(" << nlohmann::json(packages.string()).dump(-1, ' ', /*ensure_ascii=*/true)
       << ")\n";
  return static_cast<bool>(path.flush());
}

/// It compiles to bytecode, or the first import of a trial would.
StepFailure pip(const InstallSession& session, const EnvironmentRecipe::Step& step) {
  std::vector<std::string> arguments = {session.python().string(), "-m", "pip", "install", "--no-warn-script-location"};
  for (std::string& option : session.pip_options()) arguments.push_back(std::move(option));
  if (step.no_dependencies) arguments.emplace_back("--no-deps");
  arguments.insert(arguments.end(), step.packages.begin(), step.packages.end());
  const auto ended = session.start(std::move(arguments));
  if (ended.result.ok()) return std::nullopt;
  return session.failure(ended, "pip", explain_pip(ended.output, session.store()));
}

StepFailure fix_and_import(InstallSession& session) {
  const EnvironmentRecipe& recipe = session.recipe();
  const auto variables = variables_of(recipe, session.places().folder);
  for (const std::string& name : recipe.fix_ups) {
    session.say("fix-up " + name);
    const fs::path program = session.options().fix_ups / (name + ".py");
    const auto ended =
        // -B: a fix-up leaves no bytecode of its own in the environment.
        session.start({session.python().string(), "-B", program.string(), session.places().folder.string()},
                      Clock::time_point::max(), variables);
    if (!ended.result.ok()) {
      return session.failure(ended, "the fix-up " + name,
                             fmt::format("the fix-up {} failed: {}", name, last_line(ended.output)));
    }
  }
  if (recipe.imports.empty()) return std::nullopt;
  const std::string names = fmt::format("{}", fmt::join(recipe.imports, ", "));
  session.say("import " + names);
  std::vector<std::string> arguments = {session.python().string(), "-I", "-c", kImport};
  arguments.insert(arguments.end(), recipe.imports.begin(), recipe.imports.end());
  const auto ended = session.start(std::move(arguments), Clock::now() + kLongestImport, variables);
  if (ended.result.ok()) return std::nullopt;
  return session.failure(ended, "import " + names, fmt::format("import {} fails: {}", names, last_line(ended.output)));
}

Lock resolved(const InstallSession& session, const PythonInterpreter& interpreter) {
  const std::string python = session.python().string();
  // A virtual environment of the user's need not have pip.
  const auto ended = interpreter.packages.empty()
                         ? session.start({python, "-m", "pip", "freeze", "--all", "--disable-pip-version-check"})
                         : session.start({python, "-I", "-c", kDistributions});
  if (!ended.result.ok())
    return std::unexpected(session.failure(ended, "pip freeze", "pip freeze fails: " + last_line(ended.output)));
  std::vector<std::string> lock;
  std::string_view rest = ended.output;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (is_locked_package(line)) lock.emplace_back(line);  // the rest is warnings
  }
  std::ranges::sort(lock);
  return lock;
}

/// The recipe's steps, or the one that a lock comes down to.
std::expected<std::vector<EnvironmentRecipe::Step>, EnvironmentFailure> steps_of(const InstallSession& session,
                                                                                 const PythonInterpreter& interpreter) {
  const std::vector<std::string>& lock = session.options().lock;
  // Without a lock the recipe's ranges are resolved anew; with one, exactly what it names is installed, dependencies
  // included, so none are looked for.
  if (lock.empty()) return session.recipe().steps;
  if (const auto strange = std::ranges::find_if_not(lock, is_locked_package); strange != lock.end())
    return std::unexpected(session.error(fmt::format("the lock's '{}' is no package with its version", *strange)));
  auto arguments = locked_arguments(session, interpreter, lock);
  if (!arguments) return std::unexpected(std::move(arguments.error()));
  if (arguments->empty()) return std::vector<EnvironmentRecipe::Step>{};
  return std::vector<EnvironmentRecipe::Step>{{.packages = std::move(*arguments), .no_dependencies = true}};
}

Lock install_with_pip(InstallSession& session, const PythonInterpreter& interpreter) {
  const EnvironmentRecipe& recipe = session.recipe();
  const std::vector<std::string>& lock = session.options().lock;
  auto steps = steps_of(session, interpreter);
  if (!steps) return std::unexpected(std::move(steps.error()));
  const bool from_system = recipe.uses_system_packages && has_modules(interpreter, recipe);
  if (from_system) steps->clear();
  const bool new_pip = !brings_good_pip(interpreter) && !from_system;
  session.expect_steps(1 + (new_pip ? 1U : 0U) + steps->size() + recipe.fix_ups.size() +
                       (recipe.imports.empty() ? 0U : 1U));
  const bool virtual_packages = !interpreter.packages.empty();
  if (auto failed = make_venv(session, interpreter, /*with_pip=*/!virtual_packages, from_system))
    return std::unexpected(std::move(*failed));
  if (virtual_packages && !see_packages(session.places().folder, interpreter.packages))
    return std::unexpected(session.full_disk());
  const Lock brought = resolved(session, interpreter);
  if (!brought) return brought;
  if (new_pip) {
    session.say(kPipForOldPythons);
    if (auto failed = pip(session, {.packages = {kPipForOldPythons}, .no_dependencies = true}))
      return std::unexpected(std::move(*failed));
  }
  for (std::size_t i = 0; i < steps->size(); ++i) {
    const std::string what = lock.empty() ? fmt::format("{}", fmt::join((*steps)[i].packages, " "))
                                          : fmt::format("{} packages of the lock", lock.size());
    session.say(what + (i == 0 ? in_megabytes(recipe.download_bytes) : std::string()));
    if (auto failed = pip(session, (*steps)[i])) return std::unexpected(std::move(*failed));
  }
  if (auto failed = fix_and_import(session)) return std::unexpected(std::move(*failed));
  auto versions = resolved(session, interpreter);
  if (!versions || from_system) return versions;  // the machine's own packages are not handed on
  return with_hashes(session, std::move(*versions), lock, *brought);
}

Lock install_of_distribution(InstallSession& session, const PythonInterpreter& interpreter) {
  const EnvironmentRecipe& recipe = session.recipe();
  session.expect_steps(3 + recipe.fix_ups.size() + (recipe.imports.empty() ? 0U : 1U));
  // What is installed already is used where it lies, so the system's packages are seen.
  if (auto failed = make_venv(session, interpreter, /*with_pip=*/false, /*sees_system=*/true))
    return std::unexpected(std::move(*failed));
  auto lock = unpack_debian_packages(session);
  if (!lock) return lock;
  std::ofstream path(site_packages_of(session.places().folder) / "debian.pth");
  path << kDebianModules << '\n';  // relative: the folder is renamed when it is whole
  if (!path.flush()) return std::unexpected(session.full_disk());
  if (auto failed = fix_and_import(session)) return std::unexpected(std::move(*failed));
  return lock;
}

std::optional<EnvironmentFailure> collect_wheels(const InstallSession& session, const Environment& environment,
                                                 const fs::path& folder) {
  const auto lock = locked_arguments(session, environment.interpreter, environment.lock);
  if (!lock) return lock.error();
  if (lock->empty()) return std::nullopt;
  std::vector<std::string> arguments = {environment.python.string(),     "-m", "pip", "wheel", "--no-deps",
                                        "--wheel-dir=" + folder.string()};
  for (std::string& option : session.pip_options()) arguments.push_back(std::move(option));
  for (const fs::path& folder_of_python : bundled_with(environment.interpreter))
    arguments.push_back("--find-links=" + folder_of_python.string());
  arguments.insert(arguments.end(), lock->begin(), lock->end());
  const auto ended = session.start(std::move(arguments));
  if (ended.result.ok()) return std::nullopt;
  return session.failure(ended, "pip wheel", explain_pip(ended.output, session.store()));
}

std::optional<EnvironmentFailure> collect_debian(const InstallSession& session, const Environment& environment,
                                                 const fs::path& folder) {
  std::vector<DebianPackage> packages;
  for (const std::string& line : environment.lock) {
    auto package = package_of_lock(line);
    if (!package) return session.error(package.error());
    packages.push_back(std::move(*package));
  }
  return download_debian_packages(session, packages, folder);
}

namespace fs = std::filesystem;

constexpr std::chrono::seconds kPatienceForModules{120};  // a cold framework of 2 GB
constexpr const char* kSystemPython = "/usr/bin/python3";
constexpr const char* kTryModules = "import importlib, sys\nfor name in sys.argv[1:]: importlib.import_module(name)";

/// A virtual environment is none of the machine's own: it is not there for others, unless the user names it.
bool is_virtual(const PythonInterpreter& python) {
  std::error_code error;
  return fs::exists(python.program.parent_path().parent_path() / "pyvenv.cfg", error);
}

}  // namespace

Lock install_environment(const EnvironmentRecipe& recipe, const PythonInterpreter& python,
                         const InstallOptions& options, const InstallPlaces& places, const std::stop_token& stop) {
  InstallSession session(recipe, options, places, stop);
  if (recipe.build && !options.wheels.empty()) {  // built elsewhere
    session.expect_steps(1);
    session.say("the library of the bundle");
    fs::copy(options.wheels, places.folder, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    return options.lock;
  }
  if (recipe.build) {
    session.expect_steps(4);
    return build_from_source(session);
  }
  if (recipe.source == "distribution") return install_of_distribution(session, python);
  return install_with_pip(session, python);
}

std::string bound_to_machine(const Environment& environment, const EnvironmentRecipe& recipe) {
  if (recipe.build || recipe.source == "distribution") return {};
  // Asked of the environment itself: whether the system's packages served was decided when it was made.
  const std::string text = space::read_file(environment.folder / "pyvenv.cfg").value_or("");
  if (!text.contains("include-system-site-packages = true")) return {};
  return recipe.name + " takes its packages from this machine's own Python: they cannot be handed on";
}

std::optional<EnvironmentFailure> collect_packages(const Environment& environment, const EnvironmentRecipe& recipe,
                                                   const InstallOptions& options, const fs::path& folder,
                                                   const fs::path& temporary, const std::stop_token& stop) {
  fs::create_directories(folder);
  fs::create_directories(temporary / "downloads");
  const InstallPlaces places{.folder = environment.folder,
                             .temporary = temporary,
                             .downloads = temporary / "downloads",
                             .log = temporary / "log.txt"};
  InstallSession session(recipe, options, places, stop);
  session.expect_steps(1);
  session.say(fmt::format("collect {} packages", environment.lock.size()));
  if (recipe.build) {
    for (const char* part : {"include", "lib", "share"}) {
      if (!fs::exists(environment.folder / part)) continue;
      fs::copy(environment.folder / part, folder / part, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    }
    return std::nullopt;
  }
  if (recipe.source == "distribution") return collect_debian(session, environment, folder);
  return collect_wheels(session, environment, folder);
}

bool has_modules(const PythonInterpreter& python, const EnvironmentRecipe& recipe) {
  if (recipe.imports.empty() || (is_virtual(python) && python.packages.empty())) return false;
  std::vector<std::string> argv = {python.program.string(), "-I", "-c", kTryModules};
  argv.insert(argv.end(), recipe.imports.begin(), recipe.imports.end());
  return command_output({.argv = std::move(argv), .variables = recipe.environment},
                        std::chrono::steady_clock::now() + kPatienceForModules)
      .has_value();
}

std::expected<PythonInterpreter, std::string> python_for(const EnvironmentRecipe& recipe, const PythonPlaces& places) {
  if (recipe.kind != RecipeKind::Python) return PythonInterpreter{};
  std::vector<PythonInterpreter> pythons = find_pythons(places);
  if (recipe.source == "distribution") {
    std::error_code error;
    const fs::path own = fs::canonical(kSystemPython, error);
    // Modules of Debian are compiled for Debian's Python alone.
    std::erase_if(pythons, [&](const PythonInterpreter& each) { return each.program != own; });
    if (pythons.empty()) {
      return std::unexpected(
          "its packages are for the distribution's own Python, which has no venv here; install it (Debian: apt-get "
          "install python3-venv)");
    }
  }
  if (recipe.uses_system_packages) {
    std::vector<PythonInterpreter> having = find_virtual_environments(places);
    having.insert(having.end(), pythons.begin(), pythons.end());
    for (const PythonInterpreter& python : having)
      if (satisfies(python.version, recipe.python).value_or(false) && has_modules(python, recipe)) return python;
  }
  return choose_python(pythons, recipe.python);
}

}  // namespace nocturne::measure
