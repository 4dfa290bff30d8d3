#pragma once

/// What is mounted where, as this process sees it.

#include <filesystem>
#include <string>
#include <vector>

namespace nocturne::command {

struct MountPoint {
  std::filesystem::path path;
  std::string kind;  ///< "ext4", "proc"
  bool read_only = false;
};

class MountTable {
 public:
  /// In the words of proc(5), /proc/pid/mountinfo. Lines that are none are left out.
  explicit MountTable(const std::string& mountinfo);
  /// What is mounted for this process. Throws std::runtime_error with a sentence where /proc is not there.
  static MountTable read();

  /// The uppermost mount at this very path; null: none.
  [[nodiscard]] const MountPoint* at(const std::filesystem::path& path) const;
  [[nodiscard]] bool any_below(const std::filesystem::path& folder) const;

 private:
  std::vector<MountPoint> mounts_;
};

/// A file system without files that somebody keeps: proc, sysfs, control groups, devices.
[[nodiscard]] bool is_pseudo(const std::string& kind);

/// Whether `path` lies in `folder`, or is it. Both absolute and without "..".
[[nodiscard]] bool is_within(const std::filesystem::path& path, const std::filesystem::path& folder);

}  // namespace nocturne::command
