#pragma once

/// What Pythons have said of themselves, kept from one program run to the next: starting an interpreter takes a tenth
/// of a second, and a machine has a dozen.
///
/// An answer stands while the files that it rests on (the program, its modules venv and ensurepip) have the size, inode
/// and time of change that they had. Only what a program said of itself is kept: one that answers for another (a shim)
/// is asked each time, and so is one that could not answer, which may have been fixed since. The file is a cache: one
/// that cannot be written or read is none.

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "measure/environment/python_finder.hpp"

namespace nocturne::measure {

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
  struct Known {
    PythonInterpreter python;
    std::map<std::string, std::string> stamps;  ///< by file
  };
  std::filesystem::path file_;
  std::map<std::filesystem::path, Known> known_;
  bool changed_ = false;
};

}  // namespace nocturne::measure
