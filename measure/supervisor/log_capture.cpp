#include "measure/supervisor/log_capture.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

namespace nocturne::measure {

LogCapture::LogCapture(int pipe, OpenFile file, std::int64_t cap_bytes)
    : pipe_(pipe), file_(std::move(file)), cap_bytes_(cap_bytes) {
  // Best effort: a larger pipe lets the reader sleep longer while the worker chatters.
  (void)::fcntl(pipe_, F_SETPIPE_SZ, 1 << 20);
  (void)::fcntl(pipe_, F_SETFL, O_NONBLOCK);
}

LogCapture::~LogCapture() {
  if (pipe_ >= 0) ::close(pipe_);
}

std::size_t LogCapture::drain() {
  static std::array<char, 256 << 10> buffer;
  std::size_t total = 0;
  // Bounded, so that a flood cannot keep the supervisor from its deadline.
  for (int round = 0; round < 16 && pipe_ >= 0; ++round) {
    const ssize_t count = ::read(pipe_, buffer.data(), buffer.size());
    if (count > 0) {
      keep(buffer.data(), static_cast<std::size_t>(count));
      total += static_cast<std::size_t>(count);
    } else if (count == 0) {
      ::close(pipe_);
      pipe_ = -1;
    } else if (errno != EINTR) {
      break;
    }
  }
  return total;
}

void LogCapture::keep(const char* data, std::size_t size) {
  const std::int64_t room = std::max<std::int64_t>(0, cap_bytes_ - bytes_);
  const std::size_t head = std::min(size, static_cast<std::size_t>(room));
  if (file_) (void)file_.write(std::string_view(data, head));
  bytes_ += static_cast<std::int64_t>(size);
  tail_.append(data + head, size - head);
  if (tail_.size() > 2 * kTailBytes) tail_.erase(0, tail_.size() - kTailBytes);
}

void LogCapture::finish() {
  for (int round = 0; round < 64 && drain() > 0; ++round) {  // bounded: a survivor may go on writing
  }
  if (tail_.size() > kTailBytes) tail_.erase(0, tail_.size() - kTailBytes);
  if (tail_.empty() || !file_) return;
  const std::int64_t left_out = bytes_ - cap_bytes_ - static_cast<std::int64_t>(tail_.size());
  if (left_out > 0) {
    const std::string note = "\n[" + std::to_string(left_out) + " bytes left out]\n";
    (void)file_.write(note);
  }
  (void)file_.write(tail_);
  tail_.clear();
}

}  // namespace nocturne::measure
