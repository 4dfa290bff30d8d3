#pragma once

/// Which container runtimes campaigns can use here, and why not the others.

#include <string>
#include <vector>

#include "tuner/doctor/finding.hpp"

namespace nocturne::tuner {

/// A runtime as it was met.
struct RuntimeState {
  std::string name;
  std::string version;   ///< empty where it does not answer
  std::string obstacle;  ///< empty: it can run here
  std::string package;   ///< name of Debian's package
};

/// Starts each runtime's program.
[[nodiscard]] std::vector<RuntimeState> probe_runtimes();

/// One finding a runtime. Missing ones are optional, and a package is named only where none works: the first one, which
/// needs neither a daemon nor rights.
[[nodiscard]] std::vector<Diagnosis> check_containers(const std::vector<RuntimeState>& runtimes);

}  // namespace nocturne::tuner
