#pragma once

/// Programs that say they were Pythons, and are nothing else: a machine that has all versions the recipes want.

#include <filesystem>
#include <fstream>
#include <string>

#include "measure/environment/python_finder.hpp"
#include "tests/support/temporary_folder.hpp"

namespace nocturne::test {

class FakePythons {
 public:
  FakePythons() {
    for (const std::string minor : {"6", "7", "11"}) {
      const std::filesystem::path program = folder_.path() / ("python3." + minor);
      std::ofstream(program) << "#!/bin/sh\necho '[\"" << program.string() << "\", [3, " << minor
                             << ", 9], \"cpython\", \"cpython-3" << minor << "-x86_64-linux-gnu\"]'\n";
      std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    }
  }
  [[nodiscard]] measure::PythonPlaces places() const { return {.folders = {folder_.path()}}; }
  [[nodiscard]] std::filesystem::path environments() const { return folder_.path() / "environments"; }

 private:
  TemporaryFolder folder_;
};

}  // namespace nocturne::test
