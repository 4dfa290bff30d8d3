#include "space/file_contents.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "space/digest.hpp"

namespace nocturne::space {
namespace {

class OpenFile {
 public:
  explicit OpenFile(const std::filesystem::path& file)
      : descriptor_(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~OpenFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  /// 0: its end. -1: it cannot be read.
  [[nodiscard]] ssize_t read(char* into, std::size_t most) const {
    for (;;) {
      const ssize_t count = ::read(descriptor_, into, most);
      if (count < 0 && errno == EAGAIN) {  // a pipe whose other end is open: a shell's <(command)
        pollfd waiting{.fd = descriptor_, .events = POLLIN, .revents = 0};
        if (::poll(&waiting, 1, -1) >= 0 || errno == EINTR) continue;
      }
      if (count >= 0 || errno != EINTR) return count;
    }
  }

 private:
  int descriptor_;
};

using Piece = std::array<char, 1 << 16>;

}  // namespace

std::optional<std::string> read_file(const std::filesystem::path& file, std::size_t most) {
  const OpenFile opened(file);
  Piece piece;
  std::string text;
  while (text.size() < most) {
    const ssize_t count = opened.read(piece.data(), std::min(piece.size(), most - text.size()));
    if (count < 0) return std::nullopt;
    if (count == 0) break;
    text.append(piece.data(), static_cast<std::size_t>(count));
  }
  return text;
}

bool read_file_in_pieces(const std::filesystem::path& file, const std::function<void(std::string_view)>& take) {
  const OpenFile opened(file);
  Piece piece;
  for (;;) {
    const ssize_t count = opened.read(piece.data(), piece.size());
    if (count <= 0) return count == 0;
    take({piece.data(), static_cast<std::size_t>(count)});
  }
}

std::optional<std::string> sha256_of_file(const std::filesystem::path& file) {
  Sha256 digest;
  if (!read_file_in_pieces(file, [&](std::string_view piece) { digest.update(piece); })) return std::nullopt;
  return digest.finish();
}

}  // namespace nocturne::space
