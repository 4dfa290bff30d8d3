#pragma once

/// A file that is either the old one or the new one, never half of it.

#include <expected>
#include <filesystem>
#include <string>
#include <string_view>

namespace nocturne::space {

/// Writes beside the target, makes it durable (fsync), then renames it into place; makes missing folders. Mode 0644, or
/// 0755 where `executable`, less the umask. The error is a sentence with the path; the old file then stays.
[[nodiscard]] std::expected<void, std::string> write_file(const std::filesystem::path& file, std::string_view text,
                                                          bool executable = false);

/// All that was written to the disk of a folder is on it then: of thousands of files each, before they get their name.
void flush_disk_of(const std::filesystem::path& folder);

}  // namespace nocturne::space
