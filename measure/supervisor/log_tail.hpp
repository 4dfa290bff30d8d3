#pragma once

/// The end of what a process printed, as text that JSON and SQLite can hold.

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "measure/supervisor/run_folder.hpp"

namespace nocturne::measure {

/// The end of a file, at most `bytes`, from the beginning of a line where one begins there; always valid UTF-8. Empty
/// where it cannot be read, or is none that RunFolder reads.
[[nodiscard]] std::string tail_of(const RunFolder& folder, const std::string& name, std::size_t bytes);
[[nodiscard]] std::string tail_of(const std::filesystem::path& file, std::size_t bytes);

/// The last line that holds more than white space, cut to 300 bytes or less.
[[nodiscard]] std::string last_line_of(std::string_view text);

/// With U+FFFD for every byte that is not part of UTF-8.
[[nodiscard]] std::string valid_utf8(const std::string& text);
[[nodiscard]] bool is_utf8(const std::string& text);

}  // namespace nocturne::measure
