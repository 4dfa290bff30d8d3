#include "measure/supervisor/run_folder.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include <nlohmann/json.hpp>

namespace nocturne::measure {
namespace {

namespace fs = std::filesystem;

std::unexpected<std::string> failed(std::string_view what, const std::string& name) {
  return std::unexpected(fmt::format("{} {}: {}", what, name, std::strerror(errno)));
}

// The sentence where it is not what was asked for.
std::string wrong_kind(const std::string& name, const struct stat& info, bool fifo) {
  if (fifo) return S_ISFIFO(info.st_mode) ? "" : fmt::format("{} is no FIFO", name);
  if (S_ISFIFO(info.st_mode)) return fmt::format("{} is a FIFO", name);
  if (!S_ISREG(info.st_mode)) return fmt::format("{} is no ordinary file", name);
  // Somebody's file that lies on the same disk could be changed by its second name.
  return info.st_nlink == 1 ? "" : fmt::format("{} is a link to a file that has other names", name);
}

}  // namespace

OpenFile::OpenFile(OpenFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

OpenFile& OpenFile::operator=(OpenFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

OpenFile::~OpenFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::string OpenFile::read_at(std::int64_t offset, std::size_t most) const {
  std::string text;
  constexpr std::size_t kPiece = 64 << 10;
  while (text.size() < most) {
    const std::size_t had = text.size();
    text.resize(had + std::min(kPiece, most - had));
    const ssize_t count =
        ::pread(descriptor_, text.data() + had, text.size() - had, offset + static_cast<std::int64_t>(had));
    text.resize(had + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (count == 0 || (count < 0 && errno != EINTR)) break;
  }
  return text;
}

std::int64_t OpenFile::size() const {
  struct stat info{};
  return ::fstat(descriptor_, &info) == 0 ? info.st_size : 0;
}

bool OpenFile::write(std::string_view text) const {
  while (!text.empty()) {
    const ssize_t count = ::write(descriptor_, text.data(), text.size());
    if (count < 0 && errno != EINTR) return false;
    if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

std::expected<RunFolder, std::string> RunFolder::open(const fs::path& folder) {
  OpenFile opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!opened) return failed("cannot open the run's folder", folder.string());
  return RunFolder(std::move(opened));
}

std::expected<RunFolder, std::string> RunFolder::make(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder.parent_path(), error);
  const bool made = ::mkdir(folder.c_str(), 0700) == 0;
  if (!made && errno != EEXIST) return failed("cannot make the run's folder", folder.string());
  auto opened = open(folder);
  if (!made && (!opened || !fs::is_empty(folder, error) || error))
    return std::unexpected(fmt::format("the run's folder {} is not empty", folder.string()));
  if (opened && !made && ::fchmod(opened->folder_.descriptor(), 0700) != 0)
    return failed("cannot make private", folder.string());
  return opened;
}

std::expected<OpenFile, std::string> RunFolder::open_as(const std::string& name, int flags, bool fifo) const {
  OpenFile file(::openat(folder_.descriptor(), name.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file && errno == ELOOP) return std::unexpected(fmt::format("{} is a link", name));
  if (!file) return failed("cannot open", name);
  struct stat info{};
  if (::fstat(file.descriptor(), &info) != 0) return failed("cannot look at", name);
  if (auto sentence = wrong_kind(name, info, fifo); !sentence.empty()) return std::unexpected(std::move(sentence));
  return file;
}

std::expected<OpenFile, std::string> RunFolder::read(const std::string& name) const {
  return open_as(name, O_RDONLY, false);
}

std::expected<std::string, std::string> RunFolder::text(const std::string& name, std::size_t most) const {
  const auto file = read(name);
  if (!file) return std::unexpected(file.error());
  std::string text = file->read_at(0, most + 1);
  if (text.size() > most) return std::unexpected(fmt::format("{} is longer than {} bytes", name, most));
  return text;
}

bool RunFolder::absent(const std::string& name) const {
  struct stat info{};
  return ::fstatat(folder_.descriptor(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT;
}

std::expected<OpenFile, std::string> RunFolder::create(const std::string& name) const {
  (void)::unlinkat(folder_.descriptor(), name.c_str(), 0);
  OpenFile file(::openat(folder_.descriptor(), name.c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  if (!file) return failed("cannot make", name);
  return file;
}

std::expected<void, std::string> RunFolder::write(const std::string& name, std::string_view text) const {
  const auto file = create(name);
  if (!file) return std::unexpected(file.error());
  if (!file->write(text)) return failed("cannot write", name);
  return {};
}

std::expected<void, std::string> RunFolder::replace(const std::string& name, std::string_view text) const {
  const std::string fresh = name + ".new";
  if (auto written = write(fresh, text); !written) return written;
  if (::renameat(folder_.descriptor(), fresh.c_str(), folder_.descriptor(), name.c_str()) == 0) return {};
  return failed("cannot replace", name);
}

void RunFolder::cut(const std::string& name, std::int64_t bytes) const {
  const auto file = open_as(name, O_RDWR, false);
  if (file && file->size() > bytes) (void)!::ftruncate(file->descriptor(), bytes);
}

std::expected<void, std::string> RunFolder::make_fifo(const std::string& name) const {
  if (::mkfifoat(folder_.descriptor(), name.c_str(), 0600) != 0) return failed("cannot make the FIFO", name);
  return {};
}

std::expected<OpenFile, std::string> RunFolder::open_fifo(const std::string& name) const {
  return open_as(name, O_RDWR, true);
}

nlohmann::json read_run_json(const std::filesystem::path& folder, const std::string& name, std::size_t most) {
  const auto opened = RunFolder::open(folder);
  const auto text = opened ? opened->text(name, most) : std::unexpected(opened.error());
  return nlohmann::json::parse(text.value_or(""), nullptr, /*allow_exceptions=*/false);
}

}  // namespace nocturne::measure
