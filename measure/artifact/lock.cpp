#include "measure/artifact/lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <utility>

#include "space/folder_entries.hpp"

namespace nocturne::measure {
namespace {

/// How often a waiter looks again: a blocking flock cannot be stopped.
constexpr std::chrono::milliseconds kPatience{50};

int open_lock(const std::filesystem::path& file) {
  return open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
}

/// `kind`: LOCK_EX or LOCK_SH.
bool try_lock(int file, int kind = LOCK_EX) {
  int result = 0;
  do {
    result = flock(file, kind | LOCK_NB);
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

namespace fs = std::filesystem;

constexpr const char* kMaking = ".making";
constexpr const char* kLocks = ".lock";

bool is_number(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
}

}  // namespace

std::optional<FileLock> FileLock::try_kind(const std::filesystem::path& file, int kind) {
  const int handle = open_lock(file);
  if (handle < 0) return std::nullopt;
  FileLock lock(handle);
  if (!try_lock(handle, kind)) return std::nullopt;
  return lock;
}

std::optional<FileLock> FileLock::try_take(const std::filesystem::path& file) {
  return try_kind(file, LOCK_EX);
}

std::optional<FileLock> FileLock::try_share(const std::filesystem::path& file) {
  return try_kind(file, LOCK_SH);
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

fs::path lock_of_name(const fs::path& root, const std::string& name) {
  return root / kLocks / name;
}

fs::path incomplete_folder(const fs::path& root, const std::string& name) {
  return root / kMaking / fmt::format("{}.{}", name, ::getpid());
}

void sweep_incomplete(const fs::path& root) {
  for (const char* folder : {kMaking, kLocks}) fs::create_directories(root / folder);
  for (const fs::directory_entry& entry : space::entries_of(root / kMaking)) {
    const std::string process = entry.path().extension();
    if (process.empty() || !is_number(process.substr(1))) continue;
    std::error_code ignored;
    if (const auto lock = FileLock::try_take(lock_of_name(root, entry.path().stem())))
      fs::remove_all(entry.path(), ignored);
  }
}

Incomplete::Incomplete(const fs::path& root, const std::string& name) : path_(incomplete_folder(root, name)) {
  fs::remove_all(path_);  // of an earlier process with this number
  fs::create_directories(path_);
}

Incomplete::~Incomplete() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

void Incomplete::take_place_of(const fs::path& folder) {
  fs::remove_all(folder);
  fs::rename(path_, folder);
  path_.clear();
}

}  // namespace nocturne::measure
