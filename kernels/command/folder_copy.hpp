#pragma once

/// Copies of files and folders, sharing blocks on the disk where the file system can.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace nocturne::command {

/// With its mode and its time of change. Throws std::runtime_error with a sentence.
void duplicate_file(const std::filesystem::path& from, const std::filesystem::path& to);

/// Mode, as far as this user may write there at all, and time of change of a folder.
void copy_attributes(const std::filesystem::path& from, const std::filesystem::path& to);

struct CopyRules {
  std::uintmax_t limit_bytes = 0;             ///< all files together may have so many
  std::vector<std::filesystem::path> shared;  ///< folders for which a link to the original stands in the copy
  std::filesystem::path left_out;             ///< a folder that is not copied
};

/// Copies a folder to `to`, which must not be there; links stay links. Returns what is no file, folder or link and was
/// left out. Throws std::runtime_error with a sentence, before anything is copied where there is more than the limit.
std::vector<std::filesystem::path> copy_folder(const std::filesystem::path& from, const std::filesystem::path& to,
                                               const CopyRules& rules);

/// Makes the folders above `place / folder` and fills them with links to what lies beside `folder`, so that a path from
/// a copy of the folder there, "../data", leads where it leads from the folder.
void link_surroundings(const std::filesystem::path& folder, const std::filesystem::path& place);

/// Whether a copy, or what took its place, is no longer like its original in kind, size, mode or time of change.
[[nodiscard]] bool differs(const std::filesystem::path& copy, const std::filesystem::path& original);

}  // namespace nocturne::command
