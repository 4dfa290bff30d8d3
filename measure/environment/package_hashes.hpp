#pragma once

/// A lock's SHA-256s: what the packages of an environment were, so that another file under the same name and version is
/// refused wherever the lock is installed again.

#include <expected>
#include <filesystem>
#include <string>
#include <vector>

#include "measure/environment/install_session.hpp"

namespace nocturne::measure {

/// Gives each line of `lock` that has none the SHA-256 of the file that pip takes for it now, from its cache or else
/// from where the packages come from. `known`: lines of an earlier lock, whose hashes are kept, for these were checked.
/// `brought`: what was there before anything was installed; of these pip, setuptools and wheel stay without.
[[nodiscard]] std::expected<std::vector<std::string>, EnvironmentFailure> with_hashes(
    const InstallSession& session, std::vector<std::string> lock, const std::vector<std::string>& known,
    const std::vector<std::string>& brought);

/// What pip is told to get exactly that: as arguments where no line has a hash, else as a file in the session's
/// temporary folder, with --require-hashes: pip then refuses what differs, and what has no hash. Tools that the Python
/// brought along are left out. The error: the file cannot be written.
[[nodiscard]] std::expected<std::vector<std::string>, EnvironmentFailure> locked_arguments(
    const InstallSession& session, const PythonInterpreter& interpreter, std::vector<std::string> lock);

/// Not so with Python 3.6 and 3.7: their pips know no manylinux2014 and resolve by chance.
[[nodiscard]] bool brings_good_pip(const PythonInterpreter& python);

/// Where Pythons keep the wheels of pip and setuptools that each virtual environment begins with; Debian's last.
[[nodiscard]] std::vector<std::filesystem::path> bundled_with(const PythonInterpreter& python);

/// Adds to its line of `lock` the SHA-256 of each file of packages in `folder` that the line does not name yet (a wheel
/// that was built here from sources). False where one cannot be read.
[[nodiscard]] bool add_hashes_of(const std::filesystem::path& folder, std::vector<std::string>& lock);

}  // namespace nocturne::measure
