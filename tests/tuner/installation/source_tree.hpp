#pragma once

/// A source tree with recipes and a worker in Python, in a temporary folder.

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temporary_folder.hpp"
#include "tuner/installation/frameworks.hpp"

namespace nocturne::test {

class SourceTree {
 public:
  SourceTree() {
    std::filesystem::create_directories(recipes());
    std::filesystem::create_directories(workers());
    write(workers() / "slow_worker.py", "import shared.events\nfrom lonely import x\n");
    write(workers() / "lonely.py", "x = 1\n");
    write(workers() / "stranger.py", "raise SystemExit\n");
    std::filesystem::create_directories(workers() / "shared");
    write(workers() / "shared" / "__init__.py", "");
    write(workers() / "shared" / "events.py", "");
    add_recipe("slow-1", R"("python": ">=3.6")");
    add_recipe("ancient-0.1", R"("python": "<2.5", "download_mb": 700, "disk_mb": 1200)");
  }

  /// `more`: further keys, without braces.
  void add_recipe(const std::string& name, const std::string& more) const {
    write(recipes() / (name + ".json"),
          R"({"recipe": ")" + name + R"(", "title": "A framework", "kind": "python", "worker": "slow_worker.py", )" +
              R"("packages": [["pip"]], "licence": "MIT", )" + more + "}");
  }
  static void write(const std::filesystem::path& file, const std::string& text) { std::ofstream(file) << text; }

  [[nodiscard]] std::filesystem::path recipes() const { return folder_.path() / "measure/environment/recipes"; }
  [[nodiscard]] std::filesystem::path workers() const { return folder_.path() / "kernels/python"; }
  [[nodiscard]] std::filesystem::path environments() const { return folder_.path() / "environments"; }
  /// This machine has no Python at all.
  [[nodiscard]] tuner::Frameworks frameworks() const { return frameworks_with({}); }
  /// It has a Python 3.8, by its own words: whatever it is asked to do it refuses.
  [[nodiscard]] tuner::Frameworks frameworks_with_python() const {
    const auto program = folder_.path() / "python3.8";
    write(program, "#!/bin/sh\n[ \"$1\" = -m ] && exit 1\necho '[\"" + program.string() +
                       "\", [3, 8, 1], \"cpython\", \"cpython-38-x86_64-linux-gnu\"]'\n");
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    return frameworks_with({.named = {program}, .folders = {}, .version_folders = {}});
  }

 private:
  [[nodiscard]] tuner::Frameworks frameworks_with(const measure::PythonPlaces& places) const {
    return tuner::Frameworks({.source_root = folder_.path(),
                              .user_recipes = folder_.path() / "own",
                              .environments = environments(),
                              .pythons = [places] { return places; }});
  }

  TemporaryFolder folder_;
};

}  // namespace nocturne::test
