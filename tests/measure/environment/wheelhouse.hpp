#pragma once

/// A folder with packages made for a test, the only place that pip looks at meanwhile; a store; fix-ups that obey.

#include <stdlib.h>

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "measure/artifact/process.hpp"
#include "measure/environment/environment_store.hpp"
#include "tests/support/temporary_folder.hpp"

namespace nocturne::test {

class Wheelhouse {
 public:
  Wheelhouse() {
    std::filesystem::create_directories(wheels());
    std::filesystem::create_directories(fix_ups());
    setenv("PIP_NO_INDEX", "1", 1);
    setenv("PIP_FIND_LINKS", wheels().c_str(), 1);
    setenv("PIP_CONFIG_FILE", "/dev/null", 1);
    const auto pythons = measure::find_pythons(measure::python_places());
    for (const auto& python : pythons) {
      const bool good = python.version >= measure::PythonVersion{3, 8, 0};  // its pip needs no newer one
      if (good && places.named.empty()) places.named.push_back(python.program);
    }
    if (places.named.empty()) SKIP("no Python 3.8 or later with venv and pip here");
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
    const auto made = measure::command_output(
        {.argv = {places.named.front().string(), NOCTURNE_SOURCE_DIR "/tests/measure/environment/make_wheel.py",
                  wheels().string(), name, version, module, requirement}},
        std::chrono::steady_clock::now() + std::chrono::seconds(30));
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
  TemporaryFolder folder_;
};

/// What `python -c CODE` prints in an environment.
inline std::string printed_by(const measure::Environment& environment, const std::string& code) {
  const auto text = measure::command_output({.argv = {environment.python.string(), "-I", "-c", code}},
                                            std::chrono::steady_clock::now() + std::chrono::seconds(30));
  return text ? *text : text.error();
}

inline std::size_t entries_of(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()));
}

}  // namespace nocturne::test
