#pragma once

/// Keeps what a worker prints: the first part in a file, of a flood also the end; never blocks the writer for long and
/// never fills the disk.

#include <cstddef>
#include <cstdint>
#include <string>

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

}  // namespace nocturne::measure
