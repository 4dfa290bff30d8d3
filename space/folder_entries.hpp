#pragma once

/// Folders walked without throwing: a range-for over std::filesystem::directory_iterator throws from its ++, whatever
/// error code its constructor took, where a network disk fails or the folder goes away meanwhile.

#include <filesystem>
#include <system_error>
#include <vector>

namespace nocturne::space {

/// The entries of a folder, in no particular order, up to the first that cannot be read; none where there is no such
/// folder. What is made or removed afterwards does not change them. Throws std::bad_alloc only.
[[nodiscard]] std::vector<std::filesystem::directory_entry> entries_of(const std::filesystem::path& folder);
/// The same; `error` is what stopped it, and clear where all of the folder was seen.
[[nodiscard]] std::vector<std::filesystem::directory_entry> entries_of(const std::filesystem::path& folder,
                                                                       std::error_code& error);

}  // namespace nocturne::space
