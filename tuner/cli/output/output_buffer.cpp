#include "tuner/cli/output/output_buffer.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ostream>
#include <utility>

#include <fmt/format.h>

#include "tuner/cli/output/format.hpp"

namespace nocturne::cli {
namespace {

constexpr std::size_t kMostWaiting = 1 << 16;

/// Those of `coloured`, "go back and erase the line" of progress, "erase the screen" of `status --watch`.
constexpr std::array<std::string_view, 8> kOurs = {"\x1b[0m",  "\x1b[1m",  "\x1b[2m",  "\x1b[31m",
                                                   "\x1b[32m", "\x1b[33m", "\r\x1b[K", "\x1b[H\x1b[2J"};

}  // namespace

std::string for_terminal(std::string_view text) {
  std::string shown;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    const auto* ours = std::ranges::find_if(kOurs, [&](std::string_view each) { return rest.starts_with(each); });
    if (ours == kOurs.end()) {
      ++at;
      continue;
    }
    shown += printable(text.substr(begin, at - begin));
    shown += *ours;
    at += ours->size();
    begin = at;
  }
  return shown + printable(text.substr(begin));
}

OutputBuffer::OutputBuffer(int descriptor, Reader reader) : descriptor_(descriptor), reader_(reader) {}

OutputBuffer::~OutputBuffer() {
  write_waiting();
}

bool OutputBuffer::write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor_, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
      continue;
    }
    if (errno == EINTR) continue;
    pollfd room{.fd = descriptor_, .events = POLLOUT, .revents = 0};
    if (errno == EAGAIN && (::poll(&room, 1, -1) >= 0 || errno == EINTR)) continue;  // somebody made it non-blocking
    if (error_ == 0) error_ = errno;
    return false;
  }
  return true;
}

bool OutputBuffer::write_waiting() {
  const std::string text = std::exchange(waiting_, {});
  return write_all(text);
}

int OutputBuffer::sync() {
  const std::lock_guard lock(mutex_);
  return write_waiting() ? 0 : -1;
}

int OutputBuffer::error() const {
  const std::lock_guard lock(mutex_);
  return error_;
}

OutputBuffer::int_type OutputBuffer::overflow(int_type character) {
  if (traits_type::eq_int_type(character, traits_type::eof())) return traits_type::not_eof(character);
  const char byte = traits_type::to_char_type(character);
  return xsputn(&byte, 1) == 1 ? character : traits_type::eof();
}

std::streamsize OutputBuffer::xsputn(const char* text, std::streamsize length) {
  const std::string_view added(text, static_cast<std::size_t>(length));
  const bool to_terminal = reader_ == Reader::Terminal;
  const std::lock_guard lock(mutex_);
  waiting_ += to_terminal ? for_terminal(added) : std::string(added);
  const bool full = waiting_.size() >= kMostWaiting || (to_terminal && added.contains('\n'));
  return full && !write_waiting() ? 0 : length;
}

int OutputBuffer::close() {
  const std::lock_guard lock(mutex_);
  write_waiting();
  if (::close(descriptor_) != 0 && error_ == 0 && errno != EBADF) error_ = errno;
  return error_;
}

ExitCode with_output_error(ExitCode code, int error, std::ostream& err) {
  if (error == 0) return code;
  if (error == EPIPE) return code == ExitCode::Ok ? ExitCode::ReaderGone : code;
  err << fmt::format("nocturne: standard output could not be written: {}; what was printed is not complete\n",
                     std::strerror(error));
  return code == ExitCode::Ok ? ExitCode::OutputFailed : code;
}

}  // namespace nocturne::cli
