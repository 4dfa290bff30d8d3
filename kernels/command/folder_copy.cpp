#include "kernels/command/folder_copy.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace nocturne::command {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_copy(const fs::path& file) {
  throw std::runtime_error("cannot copy '" + file.string() + "': " + std::strerror(errno));
}

class OpenFile {
 public:
  OpenFile(const fs::path& path, int flags, mode_t mode) : number_(::open(path.c_str(), flags | O_CLOEXEC, mode)) {
    if (number_ < 0) refuse_copy(path);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() { ::close(number_); }
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

void copy_contents(int from, int to, const fs::path& name) {
  if (::ioctl(to, FICLONE, from) == 0) return;
  constexpr std::size_t kPiece = 1 << 30;
  while (::copy_file_range(from, nullptr, to, nullptr, kPiece, 0) > 0) {
  }
  std::array<char, 1 << 16> buffer;  // what is left: all, where the kernel does not copy between these two
  for (;;) {
    const ssize_t count = ::read(from, buffer.data(), buffer.size());
    if (count < 0) refuse_copy(name);
    if (count == 0) return;
    for (ssize_t done = 0; done < count;) {
      const ssize_t written = ::write(to, buffer.data() + done, static_cast<std::size_t>(count - done));
      if (written < 0) refuse_copy(name);
      done += written;
    }
  }
}

bool is_shared(const fs::path& path, const CopyRules& rules) {
  return std::ranges::find(rules.shared, path) != rules.shared.end();
}

/// Bytes of the files below, as far as is needed to see that they are too many.
std::uintmax_t bytes_below(const fs::path& folder, const CopyRules& rules) {
  std::uintmax_t bytes = 0;
  fs::recursive_directory_iterator entry(folder);
  for (; entry != fs::recursive_directory_iterator() && bytes <= rules.limit_bytes; ++entry) {
    if (entry->path() == rules.left_out || is_shared(entry->path(), rules)) entry.disable_recursion_pending();
    if (!entry->is_symlink() && entry->is_regular_file()) bytes += entry->file_size();
  }
  return bytes;
}

void copy_below(const fs::path& from, const fs::path& to, const CopyRules& rules, std::vector<fs::path>& refused) {
  if (::mkdir(to.c_str(), 0700) != 0) refuse_copy(to);
  for (const fs::directory_entry& entry : fs::directory_iterator(from)) {
    const fs::path copy = to / entry.path().filename();
    if (entry.path() == rules.left_out) continue;
    if (is_shared(entry.path(), rules))
      fs::create_directory_symlink(entry.path(), copy);
    else if (entry.is_symlink())
      fs::copy_symlink(entry.path(), copy);
    else if (entry.is_directory())
      copy_below(entry.path(), copy, rules, refused);
    else if (entry.is_regular_file())
      duplicate_file(entry.path(), copy);
    else
      refused.push_back(entry.path());
  }
  copy_attributes(from, to);
}

}  // namespace

void duplicate_file(const fs::path& from, const fs::path& to) {
  const OpenFile original(from, O_RDONLY, 0);
  const OpenFile copy(to, O_WRONLY | O_CREAT | O_EXCL, 0600);
  struct stat state{};
  if (::fstat(original.number(), &state) != 0) refuse_copy(from);
  copy_contents(original.number(), copy.number(), from);
  const std::array<timespec, 2> times = {state.st_atim, state.st_mtim};
  if (::geteuid() == 0) static_cast<void>(!::fchown(copy.number(), state.st_uid, state.st_gid));  // as far as it may
  if (::fchmod(copy.number(), state.st_mode & 07777U) != 0 || ::futimens(copy.number(), times.data()) != 0)
    refuse_copy(to);
}

void copy_attributes(const fs::path& from, const fs::path& to) {
  struct stat state{};
  if (::stat(from.c_str(), &state) != 0) refuse_copy(from);
  const bool writable = ::access(from.c_str(), W_OK) == 0;
  const std::array<timespec, 2> times = {state.st_atim, state.st_mtim};
  if (::geteuid() == 0) static_cast<void>(!::chown(to.c_str(), state.st_uid, state.st_gid));  // as far as it may
  if (::utimensat(AT_FDCWD, to.c_str(), times.data(), 0) != 0) refuse_copy(to);
  if (::chmod(to.c_str(), state.st_mode & (writable ? 07777U : 07555U)) != 0) refuse_copy(to);
}

std::vector<fs::path> copy_folder(const fs::path& from, const fs::path& to, const CopyRules& rules) {
  if (bytes_below(from, rules) > rules.limit_bytes) {
    throw std::runtime_error("'" + from.string() + "' holds more than " + std::to_string(rules.limit_bytes) +
                             " bytes, too many to copy for each run: raise the limit, or let the command write there "
                             "for real with --in-place");
  }
  std::vector<fs::path> refused;
  copy_below(from, to, rules, refused);
  return refused;
}

void link_surroundings(const fs::path& folder, const fs::path& place) {
  fs::path original = folder.root_path(), copy = place;
  fs::create_directories(copy);
  for (const fs::path& name : folder.relative_path()) {
    std::error_code unreadable;
    for (const fs::directory_entry& entry : fs::directory_iterator(original, unreadable)) {
      const fs::path beside = entry.path().filename();
      if (beside != name) fs::create_symlink(entry.path(), copy / beside);
    }
    original /= name;
    copy /= name;
    if (original != folder) fs::create_directory(copy);
  }
}

bool differs(const fs::path& copy, const fs::path& original) {
  struct stat now{}, then{};
  if (::lstat(copy.c_str(), &now) != 0 || ::lstat(original.c_str(), &then) != 0) return true;
  if (now.st_mode != then.st_mode) return true;
  if (S_ISLNK(now.st_mode)) return fs::read_symlink(copy) != fs::read_symlink(original);
  return now.st_size != then.st_size || now.st_mtim.tv_sec != then.st_mtim.tv_sec ||
         now.st_mtim.tv_nsec != then.st_mtim.tv_nsec;
}

}  // namespace nocturne::command
