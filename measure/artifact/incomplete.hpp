#pragma once

/// Folders of a store that are not whole yet: ROOT/.making/NAME.PID. Each is made under the lock ROOT/.lock/NAME, and
/// takes its place by being renamed; of a killed maker it stays, and is swept when the store is opened again.

#include <filesystem>
#include <string>

namespace nocturne::measure {

/// The lock under which NAME is made, replaced and removed (measure/artifact/lock.hpp).
[[nodiscard]] std::filesystem::path lock_of_name(const std::filesystem::path& root, const std::string& name);

/// Where this process makes NAME; nothing is created.
[[nodiscard]] std::filesystem::path incomplete_folder(const std::filesystem::path& root, const std::string& name);

/// Makes the two folders where they are missing and removes what dead makers left; what is not named as above stays.
/// Throws std::filesystem::filesystem_error where they cannot be made.
void sweep_incomplete(const std::filesystem::path& root);

/// An empty folder that is removed unless it takes its place. REQUIRES: its name's lock is held.
class Incomplete {
 public:
  /// Throws std::filesystem::filesystem_error.
  Incomplete(const std::filesystem::path& root, const std::string& name);
  Incomplete(const Incomplete&) = delete;
  Incomplete& operator=(const Incomplete&) = delete;
  ~Incomplete();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Instead of what is there, which was not whole. Throws std::filesystem::filesystem_error.
  void take_place_of(const std::filesystem::path& folder);

 private:
  std::filesystem::path path_;
};

}  // namespace nocturne::measure
