#pragma once

/// Keeps what a worker prints: the first part in a file, of a flood also the end; never blocks the writer for long and
/// never fills the disk.

#include <cstddef>
#include <cstdint>
#include <string>

namespace nocturne::measure {

class LogCapture {
 public:
  /// Takes over `pipe`, the reading end. Writes to `path`, made with mode 0600. What cannot be written is dropped: a
  /// full disk must not end a measurement.
  LogCapture(int pipe, const std::string& path, std::int64_t cap_bytes);
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
  void write(const char* data, std::size_t size) const;
  int pipe_;
  int file_;
  std::int64_t cap_bytes_;
  std::int64_t bytes_ = 0;
  std::string tail_;  ///< what came after the cap, its last kTailBytes to 2 · kTailBytes
};

}  // namespace nocturne::measure
