#pragma once

/// The files of a run's private folder.

#include <cstddef>
#include <expected>
#include <filesystem>
#include <string>
#include <string_view>

#include "measure/run/run_folder.hpp"
#include "measure/run/runner.hpp"

namespace nocturne::measure {

/// Makes the folder (mode 0700) with the request in it, and the FIFO where the request names one. The error is a
/// sentence.
[[nodiscard]] std::expected<RunFolder, std::string> prepare_folder(const RunPlan& plan);

/// The end of a file, at most `bytes`, from the beginning of a line where one begins there; always valid UTF-8. Empty
/// where it cannot be read, or is none that RunFolder reads.
[[nodiscard]] std::string tail_of(const RunFolder& folder, const std::string& name, std::size_t bytes);
[[nodiscard]] std::string tail_of(const std::filesystem::path& file, std::size_t bytes);

/// The last line that holds more than white space, cut to 300 bytes or less.
[[nodiscard]] std::string last_line_of(std::string_view text);

/// Replaces every byte that is not part of UTF-8 by U+FFFD.
[[nodiscard]] std::string valid_utf8(const std::string& text);
[[nodiscard]] bool is_utf8(const std::string& text);

}  // namespace nocturne::measure
