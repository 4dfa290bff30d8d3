#pragma once

/// The files of a run's private folder.

#include <cstddef>
#include <expected>
#include <filesystem>
#include <string>
#include <string_view>

#include "measure/run/runner.hpp"

namespace nocturne::measure {

inline constexpr const char* kRequestFile = "request.json";
inline constexpr const char* kAloneRequestFile = "request-alone.json";  ///< beside it where the request asks for turns
inline constexpr const char* kEventsFile = "events.jsonl";
inline constexpr const char* kLogFile = "log.txt";         ///< stdout and stderr; written by the supervisor
inline constexpr const char* kResultFile = "result.json";  ///< how it ended; written by the supervisor
inline constexpr const char* kTurnsFile = "turns";         ///< FIFO, only when workers take turns

/// Makes the folder (mode 0700) with the request in it, and the FIFO where the request names one. The error is a
/// sentence.
[[nodiscard]] std::expected<void, std::string> prepare_folder(const RunPlan& plan);

/// The end of a file, at most `bytes`, from the beginning of a line where one begins there; always valid UTF-8.
[[nodiscard]] std::string tail_of(const std::filesystem::path& file, std::size_t bytes);

/// The last line that holds more than white space, cut to 300 bytes or less.
[[nodiscard]] std::string last_line_of(std::string_view text);

/// With U+FFFD for every byte that is not part of UTF-8.
[[nodiscard]] std::string valid_utf8(const std::string& text);
[[nodiscard]] bool is_utf8(const std::string& text);

}  // namespace nocturne::measure
