#pragma once

/// What a command has written in a private view, read from its layers or from its copy of the folder.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "kernels/command/overlay_tree.hpp"

namespace nocturne::command {

struct WrittenFile {
  std::filesystem::path path;  ///< where it would lie without the view; absolute
  std::uintmax_t bytes = 0;
  bool deleted = false;  ///< a file or folder that is there without the view
  /// When it was made or last changed, whichever is later: an unpacked file may say that it is old. Only of a regular
  /// file that is not there without the view; else 0.
  std::int64_t made_unix_ns = 0;
};

using WrittenFiles = std::vector<WrittenFile>;

/// Sorted by path. A file that was opened for writing, or whose mode was changed, counts as written.
[[nodiscard]] WrittenFiles written_in(const OverlayState& state);

/// Compares the copy of a folder, below `place`, with the folder, and the links around it with what they were.
/// `left_out` is no part of the copy.
[[nodiscard]] WrittenFiles written_in_copy(const std::filesystem::path& place, const std::filesystem::path& folder,
                                           const std::vector<std::filesystem::path>& left_out);

/// All files below `place`, as if they lay below `target`; none where there is no such folder.
[[nodiscard]] WrittenFiles written_below(const std::filesystem::path& place, const std::filesystem::path& target);

/// Lets this user enter and empty every folder below, whatever a command made of their modes.
void make_removable(const std::filesystem::path& folder);

}  // namespace nocturne::command
