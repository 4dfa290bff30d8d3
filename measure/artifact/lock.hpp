#pragma once

/// A lock file held by flock(2): the kernel releases it when its holder dies, however it dies. Move-only.

#include <filesystem>
#include <optional>
#include <stop_token>

namespace nocturne::measure {

class FileLock {
 public:
  /// Takes the lock or returns at once. Empty too where the file cannot be made.
  [[nodiscard]] static std::optional<FileLock> try_take(const std::filesystem::path& file);
  /// Waits for it; empty when `stop` is requested first, or the file cannot be made.
  [[nodiscard]] static std::optional<FileLock> take(const std::filesystem::path& file, const std::stop_token& stop);

  FileLock(FileLock&& other) noexcept : file_(other.file_) { other.file_ = -1; }
  FileLock& operator=(FileLock&& other) noexcept;
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int file) : file_(file) {}
  int file_ = -1;
};

}  // namespace nocturne::measure
