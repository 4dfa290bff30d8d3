#include "measure/supervisor/log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <nlohmann/json.hpp>

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

namespace fs = std::filesystem;
using nlohmann::json;

bool is_utf8(const std::string& text) {
  try {
    (void)json(text).dump();
    return true;
  } catch (const json::exception&) {
    return false;
  }
}

std::string valid_utf8(const std::string& text) {
  return json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace)).get<std::string>();
}

std::string tail_of(const RunFolder& folder, const std::string& name, std::size_t bytes) {
  const auto file = folder.read(name);
  if (!file) return {};
  const std::int64_t skipped = std::max<std::int64_t>(0, file->size() - static_cast<std::int64_t>(bytes));
  std::string text = file->read_at(skipped, bytes);
  if (skipped > 0) {
    const std::size_t line = text.find('\n');
    if (line != std::string::npos && line + 1 < text.size()) text.erase(0, line + 1);
  }
  return valid_utf8(text);
}

std::string tail_of(const fs::path& path, std::size_t bytes) {
  const auto folder = RunFolder::open(path.parent_path());
  return folder ? tail_of(*folder, path.filename().string(), bytes) : std::string();
}

std::string last_line_of(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t end = text.find_last_not_of(kSpace);
  if (end == std::string_view::npos) return {};
  text = text.substr(0, end + 1);
  const std::size_t begin = text.rfind('\n');
  if (begin != std::string_view::npos) text = text.substr(begin + 1);
  return valid_utf8(std::string(text.substr(0, 300)));
}

}  // namespace nocturne::measure
