#include "db/writer_lease.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <random>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace nocturne::db {
namespace {

constexpr std::size_t kLeaseBytes = 512;  // always as many, so that each count overwrites the one before
constexpr std::uint64_t kFirstCount =
    1'000'000'000;                       // as many digits ever after: half a count differs in no other byte
constexpr std::size_t kMostOfHost = 64;  // as many as Linux gives one
constexpr std::chrono::milliseconds kBetweenLooks{20};

struct LeaseWords {
  std::string token;
  ProcessIdentity process;
};

std::string lease_text(const std::string& token, const ProcessIdentity& process, std::uint64_t count) {
  const nlohmann::json document = {{"token", token},
                                   {"count", kFirstCount + count},
                                   {"pid", process.pid},
                                   {"start_ticks", process.start_ticks},
                                   {"boot_id", process.boot_id},
                                   {"pid_namespace", process.pid_namespace},
                                   {"host", process.host.substr(0, kMostOfHost)},
                                   {"machine", process.machine}};
  std::string text = document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  text.resize(std::max(kLeaseBytes - 1, text.size()), ' ');
  return text + '\n';
}

/// Empty optional: no such file. Torn, or another program's: an empty token.
std::optional<std::string> read_lease_text(const std::filesystem::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor < 0) return errno == ENOENT ? std::nullopt : std::optional(std::string());
  std::array<char, 2 * kLeaseBytes> buffer{};
  const ssize_t size = ::pread(descriptor, buffer.data(), buffer.size(), 0);
  ::close(descriptor);
  return std::string(buffer.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
}

LeaseWords words_of(const std::string& text) {
  LeaseWords words;
  const auto document = nlohmann::json::parse(text, nullptr, false);
  if (!document.is_object()) return words;
  try {
    words.process = {.pid = document.at("pid").get<std::int64_t>(),
                     .start_ticks = document.at("start_ticks").get<std::int64_t>(),
                     .boot_id = document.at("boot_id").get<std::string>(),
                     .pid_namespace = document.at("pid_namespace").get<std::string>(),
                     .host = document.at("host").get<std::string>(),
                     .machine = document.value("machine", "")};
    words.token = document.at("token").get<std::string>();
  } catch (const nlohmann::json::exception&) {
    return {};
  }
  // It becomes part of a file's name.
  if (words.token.find_first_not_of("0123456789abcdef") != std::string::npos) words.token.clear();
  return words;
}

bool write_whole(int descriptor, const std::string& text) {
  return ::pwrite(descriptor, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()) &&
         ::fsync(descriptor) == 0;
}

/// An open descriptor of a new file; -1 with errno.
int create_new(const std::filesystem::path& file, const std::string& text) {
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (descriptor < 0) return -1;
  if (write_whole(descriptor, text)) return descriptor;
  const int error = errno;
  ::close(descriptor);
  ::unlink(file.c_str());
  errno = error;
  return -1;
}

/// Makes `file` with this text, unless it is there already: EEXIST. An open descriptor, or -1 with errno.
int create_exclusively(const std::filesystem::path& file, const std::string& own_name, const std::string& text) {
  const std::filesystem::path own = file.string() + "." + own_name;
  const int descriptor = create_new(own, text);
  if (descriptor < 0) return -1;
  int error = ::link(own.c_str(), file.c_str()) == 0 ? 0 : errno;
  struct stat status{};
  // The answer of a server may be lost and the call repeated: whether there are two names now is the truth (open(2)).
  if (error == EEXIST && ::fstat(descriptor, &status) == 0 && status.st_nlink == 2) error = 0;
  ::unlink(own.c_str());
  if (error == 0) return descriptor;
  ::close(descriptor);
  if (error == EPERM || error == EOPNOTSUPP || error == ENOSYS || error == EMLINK) return create_new(file, text);
  errno = error;
  return -1;
}

/// Whether the text of the file stays the same, or the file is gone: then nobody counts in it.
bool stays_silent(const std::filesystem::path& file, const std::string& text, std::chrono::milliseconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (std::chrono::steady_clock::now() < end) {
    if (read_lease_text(file) != text) return !read_lease_text(file);
    std::this_thread::sleep_for(std::min(patience, kBetweenLooks));
  }
  return read_lease_text(file).value_or(text) == text;
}

/// Whether its holder is gone. Of one that is not known to be gone and cannot be asked: whether it is silent, after
/// `before_waiting`.
template <typename BeforeWaiting>
bool holder_is_gone(const std::filesystem::path& file, const std::string& text, const ProcessIdentity& self,
                    std::chrono::milliseconds patience, const BeforeWaiting& before_waiting) {
  const ProcessIdentity holder = words_of(text).process;
  const bool same_boot = holder.boot_id == self.boot_id && holder.pid_namespace == self.pid_namespace;
  if (same_boot) return life_of(holder) == Life::Dead;
  if (ended_with_its_boot(holder, self)) return true;
  before_waiting();  // another boot is another machine as a rule, here
  return stays_silent(file, text, patience);
}

std::string writer_in(const std::string& text) {
  const LeaseWords words = words_of(text);
  return words.token.empty() ? "another process"
                             : fmt::format("process {} on '{}'", words.process.pid, words.process.host);
}

Error written_by_another(const std::filesystem::path& database, const std::string& text) {
  return {ErrorCode::Owned,
          fmt::format("'{}' is being written by {}, and lies on a file system that lets one program write at a time. "
                      "Wait for it or end it, or name another file with --db; reading goes on meanwhile.",
                      database.string(), writer_in(text))};
}

Error cannot_make_lease(const std::filesystem::path& file, int error) {
  const auto code = error == ENOSPC || error == EDQUOT                    ? ErrorCode::Full
                    : error == EACCES || error == EROFS || error == EPERM ? ErrorCode::ReadOnly
                                                                          : ErrorCode::Io;
  return {code, fmt::format("'{}', which says who writes the database, cannot be made: {}", file.string(),
                            std::generic_category().message(error))};
}

std::string new_lease_token() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

/// Puts the lease of a holder that is gone out of the way, unless somebody else did, or is about to. Who makes the file
/// that names the old lease's token may do it, and looks again first whether it still is that lease. An error number
/// where that file cannot be made, or 0.
int clear_away(const std::filesystem::path& file, const std::string& stale, const std::string& token,
               const std::string& text, const ProcessIdentity& self, std::chrono::milliseconds patience) {
  const std::string old = words_of(stale).token;
  const std::filesystem::path turn = file.string() + "-after-" + (old.empty() ? "unreadable" : old);
  const int descriptor = create_exclusively(turn, token, text);
  if (descriptor < 0) {
    const int error = errno;
    const auto other = error == EEXIST ? read_lease_text(turn) : std::nullopt;
    // Who was killed in its turn gives it up.
    if (other && holder_is_gone(turn, *other, self, patience, [] {})) ::unlink(turn.c_str());
    return error == EEXIST ? 0 : error;
  }
  ::close(descriptor);
  if (read_lease_text(file) == stale) ::unlink(file.c_str());
  ::unlink(turn.c_str());
  return 0;
}

}  // namespace

std::filesystem::path writer_lease_file(const std::filesystem::path& database) {
  return database.string() + "-writer";
}

std::unique_ptr<WriterLease> WriterLease::take(const std::filesystem::path& database, LeaseTimes times,
                                               const ProcessIdentity& self) {
  const std::filesystem::path file = writer_lease_file(database);
  const std::string token = new_lease_token();
  const std::string text = lease_text(token, self, 0);
  constexpr int kMostTries = 20;  // each is lost only to somebody who wins
  std::string last;
  for (int tries = 0; tries < kMostTries; ++tries) {
    const int descriptor = create_exclusively(file, token, text);
    if (descriptor >= 0) return std::unique_ptr<WriterLease>(new WriterLease(database, token, self, times, descriptor));
    if (errno != EEXIST) throw cannot_make_lease(file, errno);
    const auto held = read_lease_text(file);
    if (!held) continue;  // given back just now
    last = *held;
    const auto tell = [&] {
      times.waiting({.database = database, .lease = file, .writer = writer_in(*held), .patience = times.patience});
    };
    if (!holder_is_gone(file, *held, self, times.patience, tell)) throw written_by_another(database, *held);
    if (const int error = clear_away(file, *held, token, text, self, times.patience); error != 0)
      throw cannot_make_lease(file, error);
  }
  throw written_by_another(database, last);
}

WriterLease::WriterLease(std::filesystem::path database, std::string token, ProcessIdentity self, LeaseTimes times,
                         int file)
    : database_(std::move(database)),
      token_(std::move(token)),
      self_(std::move(self)),
      times_(std::move(times)),
      file_(file),
      made_by_(::getpid()) {
  // Signals are for the threads that wait for them: this one is made before those block them.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, &before);
  counting_ = std::jthread([this](const std::stop_token& stop) { keep_counting(stop); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void WriterLease::keep_counting(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  for (std::uint64_t count = 1;; ++count) {
    if (wake_.wait_for(lock, stop, times_.renewal, [&stop] { return stop.stop_requested(); })) return;
    // One that cannot be written now may be written next time; who waits has more patience than one renewal.
    static_cast<void>(write_whole(file_, lease_text(token_, self_, count)));
  }
}

std::optional<Error> WriterLease::lost() const {
  const auto held = read_lease_text(writer_lease_file(database_));
  if (held && words_of(*held).token == token_) return std::nullopt;
  const LeaseWords words = held ? words_of(*held) : LeaseWords();
  return Error{ErrorCode::Owned,
               fmt::format("'{}' may not be written by this program any more: {}. What was stored is safe; start again "
                           "when nothing else writes it.",
                           database_.string(),
                           words.token.empty() ? "the file that said so is gone"
                                               : fmt::format("process {} on '{}' took over while this one was silent",
                                                             words.process.pid, words.process.host))};
}

WriterLease::~WriterLease() {
  if (::getpid() != made_by_) {
    counting_.detach();  // a forked child's copy: the thread is the parent's, and so is the lease
    return;
  }
  counting_.request_stop();
  counting_.join();
  if (!lost()) ::unlink(writer_lease_file(database_).c_str());
  ::close(file_);
}

}  // namespace nocturne::db
