#include "measure/run/slot.hpp"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>
#include <utility>

#include "measure/supervisor/process_tree.hpp"
#include "space/json_field.hpp"

namespace nocturne::measure {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostPid = 1 << 22;  // PID_MAX_LIMIT of the kernel

std::vector<int> cpus_of(const Slot& slot) {
  std::vector<int> cpus = slot.cpus;
  if (cpus.empty()) {
    const long count = ::sysconf(_SC_NPROCESSORS_CONF);
    for (int cpu = 0; cpu < count; ++cpu) cpus.push_back(cpu);
  }
  std::ranges::sort(cpus);
  cpus.erase(std::ranges::unique(cpus).begin(), cpus.end());
  return cpus;
}

// A folder that everybody may use and nobody can replace: a real one, made by anyone, sticky.
bool usable(const fs::path& folder) {
  if (::mkdir(folder.c_str(), 0777) == 0) (void)::chmod(folder.c_str(), 01777);
  struct stat info{};
  return ::lstat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && ::access(folder.c_str(), W_OK | X_OK) == 0;
}

fs::path lock_folder() {
  for (const char* folder : {"/run/lock/nocturne", "/tmp/nocturne-slots"})
    if (usable(folder)) return folder;
  return {};
}

// Opened before it is made: in a sticky folder the kernel may refuse O_CREAT on another user's file
// (fs.protected_regular), though not the opening of it.
int open_lock(const fs::path& path) {
  constexpr int kFlags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  for (int attempt = 0; attempt < 3; ++attempt) {
    int file = ::open(path.c_str(), kFlags);
    if (file < 0 && errno == ENOENT) {
      file = ::open(path.c_str(), kFlags | O_CREAT | O_EXCL, 0666);
      if (file >= 0) (void)::fchmod(file, 0666);  // whatever our umask
    }
    if (file < 0 && (errno == EEXIST || errno == ENOENT)) continue;  // another was faster
    if (file < 0) return -1;
    struct stat info{};
    if (::fstat(file, &info) == 0 && S_ISREG(info.st_mode)) return file;
    ::close(file);
    errno = EINVAL;
    return -1;
  }
  return -1;
}

void write_holder(int file, const std::string& campaign) {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch());
  const nlohmann::json holder = {{"pid", ::getpid()}, {"campaign", campaign}, {"since_unix_s", now.count()}};
  const std::string text = holder.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
  // Only a courtesy to those who wait; the lock itself does not depend on it.
  (void)!::ftruncate(file, 0);
  (void)!::pwrite(file, text.data(), text.size(), 0);
}

/// A name that a page can show, whoever wrote it: no control characters, and no longer than a name is.
std::string tame(std::string_view name) {
  constexpr std::size_t kLongestName = 100;
  std::string tamed(name.substr(0, kLongestName));
  std::ranges::replace_if(tamed, [](unsigned char byte) { return byte < 0x20 || byte > 0x7E; }, '?');
  return tamed;
}

/// Whether the kernel knows a lock of this process on this file. A line of /proc/locks (proc(5)):
/// "1: FLOCK  ADVISORY  WRITE 4711 fe:01:12345 0 EOF". The device is left out: some file systems show another one
/// there.
bool holds_lock(std::int64_t pid, int file) {
  struct stat info{};
  if (::fstat(file, &info) != 0) return false;
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, kind, advisory, access, owner, place;
    words >> number >> kind >> advisory >> access >> owner >> place;
    if (kind == "FLOCK" && owner == std::to_string(pid) && place.ends_with(":" + std::to_string(info.st_ino)))
      return true;
  }
  return false;
}

SlotHolder read_holder(int file, int cpu) {
  SlotHolder holder;
  holder.cpu = cpu;
  std::array<char, 4096> buffer;
  const ssize_t count = ::pread(file, buffer.data(), buffer.size(), 0);
  if (count <= 0) return holder;
  const auto document = nlohmann::json::parse(buffer.data(), buffer.data() + count, nullptr, false);
  if (!document.is_object()) return holder;
  // Any user may have written it: types are checked, nothing is believed.
  space::take_field(document, "pid", holder.pid);
  space::take_field(document, "campaign", holder.campaign);
  space::take_field(document, "since_unix_s", holder.since_unix_s);
  holder.campaign = tame(holder.campaign);
  holder.stopped = holder.pid > 0 && holder.pid <= kMostPid &&
                   state_of_process(static_cast<pid_t>(holder.pid)) == 'T' && holds_lock(holder.pid, file);
  return holder;
}

}  // namespace

std::string describe(const SlotHolder& holder) {
  if (holder.pid == 0) return fmt::format("CPU {} is measured by somebody else", holder.cpu);
  // Any user may have written it, and a second too far away has no local time: that would throw.
  constexpr std::int64_t kLastSecond = 253'402'214'400;  // a day before the year 10000
  const std::int64_t since = std::clamp<std::int64_t>(holder.since_unix_s, 0, kLastSecond);
  std::string sentence = fmt::format("CPU {} is measured by campaign '{}' (process {}) since {:%H:%M:%S}", holder.cpu,
                                     holder.campaign, holder.pid, fmt::localtime(static_cast<std::time_t>(since)));
  if (holder.stopped) {
    sentence += fmt::format("; that process is stopped: 'kill -CONT {}' continues it, 'kill -KILL {}' ends it",
                            holder.pid, holder.pid);
  }
  return sentence;
}

SlotLock::SlotLock(SlotLock&& other) noexcept
    : cpus_(std::move(other.cpus_)), files_(std::exchange(other.files_, {})) {}

SlotLock& SlotLock::operator=(SlotLock&& other) noexcept {
  if (this != &other) {
    release();
    cpus_ = std::move(other.cpus_);
    files_ = std::exchange(other.files_, {});
  }
  return *this;
}

SlotLock::~SlotLock() {
  release();
}

void SlotLock::release() noexcept {
  for (const int file : files_) ::close(file);
  files_.clear();
}

std::expected<SlotLock, SlotLock::Refusal> SlotLock::try_take(const Slot& slot, const std::string& campaign,
                                                              const fs::path& wanted_folder) {
  const fs::path folder = wanted_folder.empty() ? lock_folder() : wanted_folder;
  if (folder.empty() || !usable(folder)) {
    return std::unexpected(
        Refusal{{},
                fmt::format("no folder for slot locks can be used ({})",
                            folder.empty() ? "/run/lock/nocturne, /tmp/nocturne-slots" : folder.string())});
  }
  SlotLock lock;
  lock.cpus_ = cpus_of(slot);
  for (const int cpu : lock.cpus_) {
    const fs::path path = folder / fmt::format("cpu-{}.lock", cpu);
    const int file = open_lock(path);
    if (file < 0)
      return std::unexpected(Refusal{{}, fmt::format("slot lock {}: {}", path.string(), std::strerror(errno))});
    lock.files_.push_back(file);
    if (::flock(file, LOCK_EX | LOCK_NB) == 0) continue;
    if (errno != EWOULDBLOCK)
      return std::unexpected(Refusal{{}, fmt::format("slot lock {}: {}", path.string(), std::strerror(errno))});
    return std::unexpected(Refusal{read_holder(file, cpu), {}});
  }
  for (const int file : lock.files_) write_holder(file, campaign);
  return lock;
}

std::expected<SlotLock, SlotLock::Refusal> SlotLock::take(const Slot& slot, const std::string& campaign,
                                                          const std::function<void(const SlotHolder&)>& waiting,
                                                          const std::stop_token& stop, const fs::path& folder) {
  std::optional<SlotHolder> told;
  for (;;) {
    auto lock = try_take(slot, campaign, folder);
    if (lock || !lock.error().holder) return lock;
    if (waiting && told != lock.error().holder) waiting(*lock.error().holder);
    told = lock.error().holder;
    for (int tick = 0; tick < 5; ++tick) {  // asks once in half a second, hears a stop in a tenth
      if (stop.stop_requested()) return std::unexpected(Refusal{told, "interrupted while waiting for the slot"});
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }
}

}  // namespace nocturne::measure
