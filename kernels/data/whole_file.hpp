#pragma once

/// Reads a file whole.

#include <cstdint>
#include <string>
#include <vector>

namespace nocturne::data {

/// Into `bytes`, whose room is used again. Throws DataError naming the file where it cannot be opened or read; a folder
/// or a pipe is no such file.
void read_whole_file(const std::string& path, std::vector<std::uint8_t>& bytes);

}  // namespace nocturne::data
