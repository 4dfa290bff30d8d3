#pragma once

/// What a folder lies on: SQLite's WAL needs memory that all users of a file share, which no network file system has
/// (https://www.sqlite.org/wal.html, "Overview", 2), and many of these have locks that do not lock.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>

namespace nocturne::db {

struct FileSystem {
  std::string type{};   ///< "nfs", "cifs", "fuse.sshfs"; of a local one it may be empty
  bool remote = false;  ///< other machines may have the same files open
  friend bool operator==(const FileSystem&, const FileSystem&) = default;
};

/// Tells what a folder lies on. Abstract so that a test can say what it likes.
using FileSystemProbe = std::function<FileSystem(const std::filesystem::path& folder)>;

/// Asks the kernel, about the folder or the nearest one above it that exists; what cannot be told counts as local.
[[nodiscard]] FileSystem file_system_of(const std::filesystem::path& folder);

/// By the number that statfs(2) gives. `mount_type` is the type in the table of mounts: all file systems in user space
/// have one number, and only some of them are remote. One that is not known counts as remote.
[[nodiscard]] FileSystem classify_file_system(std::uint32_t magic, std::string_view mount_type);

/// The type of the mount with this device in a table like /proc/self/mountinfo (proc(5)), of the last such line; empty:
/// none.
[[nodiscard]] std::string mounted_as(std::istream& mountinfo, unsigned major, unsigned minor);

}  // namespace nocturne::db
