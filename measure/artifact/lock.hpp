#pragma once

/// A lock file held by flock(2): the kernel releases it when its holder dies, however it dies. Move-only.

#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>

namespace nocturne::measure {

class FileLock {
 public:
  /// Takes the lock or returns at once. Empty too where the file cannot be made.
  [[nodiscard]] static std::optional<FileLock> try_take(const std::filesystem::path& file);
  /// Waits for it; empty when `stop` is requested first, or the file cannot be made.
  [[nodiscard]] static std::optional<FileLock> take(const std::filesystem::path& file, const std::stop_token& stop);
  /// Holds it together with others who share it: no other can take it meanwhile. Empty where another has taken it, or
  /// the file cannot be made.
  [[nodiscard]] static std::optional<FileLock> try_share(const std::filesystem::path& file);

  FileLock(FileLock&& other) noexcept : file_(other.file_) { other.file_ = -1; }
  FileLock& operator=(FileLock&& other) noexcept;
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int file) : file_(file) {}
  [[nodiscard]] static std::optional<FileLock> try_kind(const std::filesystem::path& file, int kind);
  int file_ = -1;
};

// Folders of a store that are not whole yet: ROOT/.making/NAME.PID. Each is made under the lock ROOT/.lock/NAME, and
// takes its place by being renamed; of a killed maker it stays, and is swept when the store is opened again.

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
