#include "measure/environment/python_choice.hpp"

#include <algorithm>
#include <chrono>

#include "measure/artifact/process.hpp"

namespace nocturne::measure {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kPatienceForModules{120};  // a cold framework of 2 GB
constexpr const char* kSystemPython = "/usr/bin/python3";
constexpr const char* kTryModules = "import importlib, sys\nfor name in sys.argv[1:]: importlib.import_module(name)";

/// A virtual environment is none of the machine's own: it is not there for others.
bool is_virtual(const PythonInterpreter& python) {
  std::error_code error;
  return fs::exists(python.program.parent_path().parent_path() / "pyvenv.cfg", error);
}

}  // namespace

bool has_modules(const PythonInterpreter& python, const EnvironmentRecipe& recipe) {
  if (recipe.imports.empty() || is_virtual(python)) return false;
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
    std::erase_if(pythons, [&](const PythonInterpreter& each) { return each.program != own; });
    if (pythons.empty()) {
      return std::unexpected(
          "its packages are for the distribution's own Python, which has no venv here; install it (Debian: apt-get "
          "install python3-venv)");
    }
  }
  if (recipe.uses_system_packages) {
    for (const PythonInterpreter& python : pythons) {
      if (satisfies(python.version, recipe.python).value_or(false) && has_modules(python, recipe)) return python;
    }
  }
  return choose_python(pythons, recipe.python);
}

}  // namespace nocturne::measure
