#pragma once

/// Which Pythons this machine has, and which of them a recipe can use.

#include <compare>
#include <expected>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nocturne::measure {

struct PythonVersion {
  int major = 0, minor = 0, patch = 0;
  auto operator<=>(const PythonVersion&) const = default;
};
[[nodiscard]] std::string to_text(const PythonVersion& version);

struct PythonInterpreter {
  std::filesystem::path program;  ///< absolute, symbolic links resolved
  PythonVersion version;
  std::string abi;  ///< "cp311-x86_64-linux-gnu": implementation, version, platform
};

/// Where to look. Tests fill it by hand.
struct PythonPlaces {
  std::vector<std::filesystem::path> named;            ///< programs or folders, by the user's configuration; first
  std::vector<std::filesystem::path> folders;          ///< folders of PATH
  std::vector<std::filesystem::path> version_folders;  ///< pyenv's versions/, uv's python/: X/bin/python3
  std::filesystem::path memory{};                      ///< file of python_memory.hpp; empty: each is asked
};
/// Reads $NOCTURNE_PYTHONS (a list like PATH), PATH, ~/.pyenv/versions ($PYENV_ROOT), uv's folder. What they said is
/// remembered in $XDG_CACHE_HOME/nocturne/pythons.json, else in ~/.cache.
[[nodiscard]] PythonPlaces python_places();

/// Each is asked once for its version; those without venv and pip are left out. Newest first. pyenv's shims, the folder
/// beside its versions, stand for these: they are scripts that take their time, and answer for one of them.
[[nodiscard]] std::vector<PythonInterpreter> find_pythons(const PythonPlaces& places);

/// Comma-separated comparisons as in ">=3.6,<3.8" or "==3.7": true where all hold. The error names the part.
[[nodiscard]] std::expected<bool, std::string> satisfies(const PythonVersion& version, std::string_view specifier);

/// The newest that satisfies; the error is a sentence with what is there and how to get one that does.
[[nodiscard]] std::expected<PythonInterpreter, std::string> choose_python(std::span<const PythonInterpreter> pythons,
                                                                          std::string_view specifier);

}  // namespace nocturne::measure
