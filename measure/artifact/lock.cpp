#include "measure/artifact/lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>
#include "space/folder_entries.hpp"

namespace nocturne::measure {
namespace {

/// How often a waiter looks again: a blocking flock cannot be stopped.
constexpr std::chrono::milliseconds kPatience{50};

int open_lock(const std::filesystem::path& file) {
  return open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
}

bool try_lock(int file) {
  int result = 0;
  do {
    result = flock(file, LOCK_EX | LOCK_NB);
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

}  // namespace

std::optional<FileLock> FileLock::try_take(const std::filesystem::path& file) {
  const int handle = open_lock(file);
  if (handle < 0) return std::nullopt;
  FileLock lock(handle);
  if (!try_lock(handle)) return std::nullopt;
  return lock;
}

std::optional<FileLock> FileLock::take(const std::filesystem::path& file, const std::stop_token& stop) {
  const int handle = open_lock(file);
  if (handle < 0) return std::nullopt;
  FileLock lock(handle);
  std::mutex mutex;
  std::condition_variable_any never_notified;
  while (!try_lock(handle)) {
    std::unique_lock guard(mutex);
    never_notified.wait_for(guard, stop, kPatience, [] { return false; });
    if (stop.stop_requested()) return std::nullopt;
  }
  return lock;
}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(file_, other.file_);
  return *this;
}

FileLock::~FileLock() {
  if (file_ >= 0) close(file_);
}

}  // namespace nocturne::measure
