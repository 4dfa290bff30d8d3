#pragma once

/// A folder with packages made for a test, the only place that pip looks at meanwhile; a store; fix-ups that obey. Its
/// Python copies its pip into new environments, where it has one; else, or where a test wants that, ensurepip installs
/// it.

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "measure/artifact/process.hpp"
#include "measure/environment/environment_store.hpp"
#include "tests/support/temporary_folder.hpp"

namespace nocturne::test {

enum class Pip { Copied, Installed };

class Wheelhouse {
 public:
  explicit Wheelhouse(Pip pip = Pip::Copied) {
    std::filesystem::create_directories(wheels());
    std::filesystem::create_directories(fix_ups());
    setenv("PIP_NO_INDEX", "1", 1);
    setenv("PIP_FIND_LINKS", wheels().c_str(), 1);
    setenv("PIP_CONFIG_FILE", "/dev/null", 1);
    std::filesystem::path python = good_python(python_on_path());
    if (python.empty()) python = good_python(measure::python_places());
    if (python.empty()) SKIP("no Python 3.8 or later with venv and pip here");
    if (pip == Pip::Copied) python = with_copied_pip(python);
    places.named = {python};
    options.fix_ups = fix_ups();
    options.free_bytes_to_keep = 0;
    options.progress = [this](std::string_view line) { said.emplace_back(line); };
  }
  ~Wheelhouse() {
    for (const char* name : {"PIP_NO_INDEX", "PIP_FIND_LINKS", "PIP_CONFIG_FILE"}) unsetenv(name);
  }
  Wheelhouse(const Wheelhouse&) = delete;
  Wheelhouse& operator=(const Wheelhouse&) = delete;

  /// `module` is what NAME.py holds beside its version.
  void add(const std::string& name, const std::string& version, const std::string& module = "",
           const std::string& requirement = "") const {
    const auto made =
        measure::command_output({.argv = {places.named.front().string(),
                                          std::string(NOCTURNE_SOURCE_DIR) + "/tests/measure/environment/make_wheel.py",
                                          wheels().string(), name, version, module, requirement}},
                                std::chrono::steady_clock::now() + std::chrono::minutes(2));
    INFO((made ? "" : made.error()));
    REQUIRE(made);
  }
  void add_fix_up(const std::string& name, const std::string& text) const {
    std::ofstream(fix_ups() / (name + ".py")) << text;
  }
  [[nodiscard]] static measure::EnvironmentRecipe recipe(std::vector<std::string> packages) {
    measure::EnvironmentRecipe recipe;
    recipe.name = "tiny-1.0";
    recipe.worker = "tiny_worker.py";
    recipe.steps = {{.packages = std::move(packages)}};
    recipe.imports = {"tiny"};
    return recipe;
  }
  [[nodiscard]] std::filesystem::path root() const { return folder_.path() / "environments"; }
  [[nodiscard]] std::filesystem::path wheels() const { return folder_.path() / "wheels"; }
  [[nodiscard]] std::filesystem::path fix_ups() const { return folder_.path() / "fix_ups"; }
  [[nodiscard]] const std::filesystem::path& path() const { return folder_.path(); }
  [[nodiscard]] auto obtain(const measure::EnvironmentRecipe& recipe) const {
    return measure::EnvironmentStore(root()).obtain(recipe, places, options);
  }

  measure::PythonPlaces places;
  measure::InstallOptions options;
  std::vector<std::string> said;

 private:
  /// One whose pip needs no newer one. Empty: none.
  static std::filesystem::path good_python(const measure::PythonPlaces& among) {
    for (const auto& python : measure::find_pythons(among))
      if (python.version >= measure::PythonVersion{3, 8, 0}) return python.program;
    return {};
  }
  /// Asked first, for a machine may have many, and each is asked who it is.
  static measure::PythonPlaces python_on_path() {
    measure::PythonPlaces result;
    std::istringstream folders(std::getenv("PATH"));
    for (std::string folder; std::getline(folders, folder, ':');)
      result.named.push_back(std::filesystem::path(folder) / "python3");
    return result;
  }
  /// The Python under another name; the same where it has no pip of its own, or a distribution's.
  [[nodiscard]] std::filesystem::path with_copied_pip(const std::filesystem::path& python) const {
    const auto packages =
        measure::command_output({.argv = {python.string(), "-I", "-c",
                                          "import os, pip; print(os.path.dirname(os.path.dirname(pip.__file__)))"}},
                                std::chrono::steady_clock::now() + std::chrono::minutes(1));
    const std::string place = packages ? packages->substr(0, packages->find('\n')) : std::string();
    if (!place.ends_with("/site-packages") || place.size() + 1 != packages->size()) return python;
    const std::filesystem::path self = folder_.path() / "python3";
    std::ofstream(self) << "#!/bin/sh\nexec '" NOCTURNE_SOURCE_DIR "/tests/support/quick_python.sh' '"
                        << python.string() << "' '" << place << "' '" << self.string() << "' \"$@\"\n";
    std::filesystem::permissions(self, std::filesystem::perms::owner_all);
    return self;
  }

  TemporaryFolder folder_;
};

/// What `python -c CODE` prints in an environment.
inline std::string printed_by(const measure::Environment& environment, const std::string& code) {
  const auto text = measure::command_output({.argv = {environment.python.string(), "-I", "-c", code}},
                                            std::chrono::steady_clock::now() + std::chrono::minutes(2));
  return text ? *text : text.error();
}

inline std::size_t entries_of(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()));
}

}  // namespace nocturne::test
