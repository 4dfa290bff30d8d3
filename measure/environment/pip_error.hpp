#pragma once

/// What went wrong in an installation, in a sentence a user can act on.

#include <filesystem>
#include <string>
#include <string_view>

namespace nocturne::measure {

/// Reads the output of one run of pip (any version from 18 on). `disk` is where the environments lie.
[[nodiscard]] std::string explain_pip(std::string_view output, const std::filesystem::path& disk);

/// Whether it says that the index, or the network, could not be reached: that may pass.
[[nodiscard]] bool index_unreachable(std::string_view output);

/// The end of a log: at most `most` bytes, whole lines.
[[nodiscard]] std::string end_of_text(std::string_view text, std::size_t most = 4096);

/// The last line that is not empty.
[[nodiscard]] std::string last_line(std::string_view text);

}  // namespace nocturne::measure
