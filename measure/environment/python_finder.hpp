#pragma once

/// Which Pythons this machine has, and which of them a recipe can use.

#include <compare>
#include <expected>
#include <filesystem>
#include <map>
#include <optional>
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
  std::filesystem::path program;  ///< absolute, symbolic links resolved, but for a virtual environment's
  PythonVersion version;
  std::string abi;                   ///< "cp311-x86_64-linux-gnu": implementation, version, platform
  std::filesystem::path packages{};  ///< site-packages of a virtual environment of the user's; empty: it is none
};

/// Where to look. Tests fill it by hand.
struct PythonPlaces {
  std::vector<std::filesystem::path> named;            ///< programs or folders, by the user's configuration; first
  std::vector<std::filesystem::path> folders;          ///< folders of PATH
  std::vector<std::filesystem::path> version_folders;  ///< pyenv's versions/, uv's python/: X/bin/python3
  std::vector<std::filesystem::path> activated{};      ///< a virtual environment's folder
  std::filesystem::path memory{};                      ///< file of a PythonMemory; empty: each is asked
};
/// Reads $NOCTURNE_PYTHONS (a list like PATH), $VIRTUAL_ENV, PATH, ~/.pyenv/versions ($PYENV_ROOT), uv's folder. What
/// they said is remembered in $XDG_CACHE_HOME/nocturne/pythons.json, else in ~/.cache.
[[nodiscard]] PythonPlaces python_places();

/// Each is asked once for its version; those without venv and pip are left out. Newest first. pyenv's shims, the folder
/// beside its versions, stand for these: they are scripts that take their time, and answer for one of them.
[[nodiscard]] std::vector<PythonInterpreter> find_pythons(const PythonPlaces& places);

/// Virtual environments that the user named (a program or folder in one) or activated: each as it is, with its
/// packages. They serve where a recipe takes packages that are there already, and for nothing else.
[[nodiscard]] std::vector<PythonInterpreter> find_virtual_environments(const PythonPlaces& places);

/// Comma-separated comparisons as in ">=3.6,<3.8" or "==3.7": true where all hold. The error names the part.
[[nodiscard]] std::expected<bool, std::string> satisfies(const PythonVersion& version, std::string_view specifier);

/// The newest that satisfies; the error is a sentence with what is there and how to get one that does.
[[nodiscard]] std::expected<PythonInterpreter, std::string> choose_python(std::span<const PythonInterpreter> pythons,
                                                                          std::string_view specifier);

// What Pythons have said of themselves, kept from one program run to the next: starting an interpreter takes a tenth
// of a second, and a machine has a dozen.
//
// An answer stands while the files that it rests on (the program, its modules venv and ensurepip) have the size, inode
// and time of change that they had. Only what a program said of itself is kept: one that answers for another (a shim)
// is asked each time, and so is one that could not answer, which may have been fixed since. The file is a cache: one
// that cannot be written or read is none.

/// Not thread-safe.
class PythonMemory {
 public:
  /// Reads the file. An empty path: nothing is remembered.
  explicit PythonMemory(std::filesystem::path file);

  [[nodiscard]] std::optional<PythonInterpreter> find(const std::filesystem::path& program) const;
  /// `modules`: files that the answer rests on beside the program.
  void keep(const PythonInterpreter& python, const std::vector<std::filesystem::path>& modules);
  /// Replaces the file, where something was kept since it was read; without programs that are gone.
  void save() const;

 private:
  struct KnownPython {
    PythonInterpreter python;
    std::map<std::string, std::string> stamps;  ///< by file
  };
  std::filesystem::path file_;
  std::map<std::filesystem::path, KnownPython> known_;
  bool changed_ = false;
};

}  // namespace nocturne::measure
