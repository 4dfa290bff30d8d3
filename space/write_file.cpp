#include "space/write_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace nocturne::space {
namespace {

/// Null on success, else what went wrong.
const char* write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return std::strerror(errno);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return ::fsync(descriptor) == 0 ? nullptr : std::strerror(errno);
}

}  // namespace

std::expected<void, std::string> write_file(const std::filesystem::path& file, std::string_view text, bool executable) {
  const auto failure = [&](const char* why) {
    return std::unexpected(fmt::format("cannot write {}: {}", file.string(), why));
  };
  std::error_code error;
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  std::filesystem::create_directories(folder, error);
  if (error) return failure(error.message().c_str());
  std::string name = (folder / ("." + file.filename().string() + ".XXXXXX")).string();
  const int descriptor = ::mkstemp(name.data());
  if (descriptor < 0) return failure(std::strerror(errno));
  // mkstemp gives 0600; umask can only be read by setting it.
  const mode_t mask = ::umask(022);
  ::umask(mask);
  const mode_t mode = (executable ? mode_t{0755} : mode_t{0644}) & ~mask;
  const char* problem = ::fchmod(descriptor, mode) != 0 ? std::strerror(errno) : write_all(descriptor, text);
  ::close(descriptor);
  if (problem == nullptr && ::rename(name.c_str(), file.c_str()) != 0) problem = std::strerror(errno);
  if (problem != nullptr) {
    ::unlink(name.c_str());
    return failure(problem);
  }
  return {};
}

void flush_disk_of(const std::filesystem::path& folder) {
  const int handle = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (handle < 0) return;
  (void)::syncfs(handle);
  ::close(handle);
}

}  // namespace nocturne::space
