#pragma once

/// Keeps what a worker prints: the first part in a file, of a flood also the end; never blocks the writer for long and
/// never fills the disk.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "measure/supervisor/run_folder.hpp"

namespace nocturne::measure {

class LogCapture {
 public:
  /// Takes over `pipe`, the reading end, and writes to `file`. What cannot be written is dropped: a full disk, or no
  /// file at all, must not end a measurement.
  LogCapture(int pipe, OpenFile file, std::int64_t cap_bytes);
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;
  ~LogCapture();

  /// Reads what is there, at most a few pipes full; returns its size. Closes the pipe at its end.
  std::size_t drain();
  /// Reads the rest, then appends a note on what was left out and the end of the flood.
  void finish();
  [[nodiscard]] int pipe() const { return pipe_; }  ///< -1: at its end
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

  static constexpr std::size_t kTailBytes = 64 << 10;

 private:
  void keep(const char* data, std::size_t size);
  int pipe_;
  OpenFile file_;
  std::int64_t cap_bytes_;
  std::int64_t bytes_ = 0;
  std::string tail_;  ///< what came after the cap, its last kTailBytes to 2 · kTailBytes
};

// The end of what a process printed, as text that JSON and SQLite can hold.

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
