#include "measure/supervisor/client.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "measure/supervisor/cgroup.hpp"
#include "measure/supervisor/process_tree.hpp"

namespace nocturne::measure {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// posix_spawn's two parts, released together.
struct SpawnSettings {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  SpawnSettings() {
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawnattr_init(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&files);
    ::posix_spawnattr_destroy(&attributes);
  }
};

int spawn_supervisor(const std::filesystem::path& program, int socket, pid_t& pid) {
  SpawnSettings settings;
  ::posix_spawn_file_actions_adddup2(&settings.files, socket, kControlDescriptor);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    ::posix_spawn_file_actions_addopen(&settings.files, standard, "/dev/null", O_RDWR, 0);
  // A session of its own from the first instruction on: no moment in which a terminal's Ctrl-C reaches it.
  ::posix_spawnattr_setflags(&settings.attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
  sigset_t none;
  sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&settings.attributes, &none);
  std::string name = program.string();
  std::string tuner = std::to_string(::getpid());
  std::array<char*, 3> argv{name.data(), tuner.data(), nullptr};
  return ::posix_spawn(&pid, name.c_str(), &settings.files, &settings.attributes, argv.data(), environ);
}

}  // namespace

std::expected<SupervisedWorker, std::string> SupervisedWorker::start(const SuperviseSpec& spec,
                                                                     const std::filesystem::path& program) {
  std::array<int, 2> sockets{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0)
    return std::unexpected(fmt::format("no socket for the supervisor: {}", std::strerror(errno)));
  SupervisedWorker supervised;
  supervised.run_id_ = spec.run_id;
  supervised.deadline_ = spec.deadline;
  supervised.total_limit_ = spec.total_limit;
  supervised.grace_ = spec.grace;
  supervised.last_resort_ = spec.last_resort;
  supervised.started_ = supervised.resumed_ = Clock::now();
  supervised.socket_ = sockets[0];
  const int error = spawn_supervisor(program, sockets[1], supervised.pid_);
  // With our own copy open, the end of a supervisor that was killed would never be read.
  ::close(sockets[1]);
  if (error != 0) {
    supervised.pid_ = -1;
    return std::unexpected(fmt::format("cannot start the supervisor {}: {}", program.string(), std::strerror(error)));
  }
  (void)send_line(supervised.socket_, to_json(spec));  // a failure shows as end of file
  return supervised;
}

SupervisedWorker::SupervisedWorker(SupervisedWorker&& other) noexcept
    : run_id_(std::move(other.run_id_)),
      pid_(std::exchange(other.pid_, -1)),
      socket_(std::exchange(other.socket_, -1)),
      deadline_(other.deadline_),
      grace_(other.grace_),
      last_resort_(other.last_resort_),
      total_limit_(other.total_limit_),
      started_(other.started_),
      resumed_(other.resumed_),
      ran_(other.ran_),
      stop_wanted_(other.stop_wanted_),
      kill_reason_(std::move(other.kill_reason_)),
      ending_since_(other.ending_since_),
      stopped_(other.stopped_),
      lost_(other.lost_),
      lines_(std::move(other.lines_)),
      result_(std::move(other.result_)) {}

SupervisedWorker::~SupervisedWorker() {
  if (pid_ > 0) ::kill(pid_, SIGCONT);  // one that is stopped would never see that its tuner is gone
  bury();
}

void SupervisedWorker::bury() {
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  while (pid_ > 0 && ::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

nanoseconds SupervisedWorker::time_left(Clock::time_point now) const {
  nanoseconds left = stop_wanted_ ? nanoseconds::max() : deadline_ - ran_ - (now - resumed_);
  if (total_limit_) left = std::min<nanoseconds>(left, *total_limit_ - (now - started_));
  return left;
}

void SupervisedWorker::wait(milliseconds timeout, int also) {
  if (finished()) return;
  const auto now = Clock::now();
  // From when it is seen: a tuner that was stopped itself must not blame its supervisor.
  if (!ending_since_ && time_left(now).count() <= 0) ending_since_ = now;
  if (ending_since_) {
    const nanoseconds since = now - *ending_since_;
    const nanoseconds next = since < grace_ ? grace_ - since : grace_ + last_resort_ - since;
    timeout = std::min(timeout, std::max(std::chrono::ceil<milliseconds>(next), milliseconds(1)));
  } else {
    timeout = std::min(timeout, std::chrono::ceil<milliseconds>(std::min<nanoseconds>(time_left(now), timeout)));
  }
  std::array<pollfd, 2> files{};
  files[0] = {.fd = socket_, .events = POLLIN, .revents = 0};
  files[1] = {.fd = also, .events = POLLIN, .revents = 0};
  if (::poll(files.data(), files.size(), static_cast<int>(timeout.count())) > 0 && files[0].revents != 0)
    receive();
  else if (ending_since_)
    end_overdue();
}

// While it lives, everything that the worker started is its descendant; afterwards it would be found by its marks
// alone.
void SupervisedWorker::end_overdue() {
  const auto since = Clock::now() - *ending_since_;
  const bool is_stopped = since >= grace_ && state_of_process(pid_) == 'T';
  if (!is_stopped && since < grace_ + last_resort_) return;
  std::string reason = kill_reason_;
  if (reason.empty()) {
    reason = fmt::format("its supervisor (process {}) {} and did not end it at its deadline", pid_,
                         is_stopped ? "was stopped" : "hung");
  }
  kill_descendants(pid_);
  ::kill(pid_, SIGKILL);
  lose(std::move(reason));
}

void SupervisedWorker::receive() {
  std::array<char, 16384> buffer;
  const ssize_t count = ::recv(socket_, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  // End of file without a result: the worker died with its supervisor; its children may not have.
  if (count <= 0) return lose("its supervisor was killed");
  lines_.append(buffer.data(), static_cast<std::size_t>(count));
  while (const auto line = lines_.next()) {
    const nlohmann::json document = nlohmann::json::parse(*line, nullptr, false);
    if (!document.is_object()) continue;
    if (const auto stopped = document.find("stopped"); stopped != document.end()) stopped_ = *stopped == true;
    if (const auto result = document.find("result"); result != document.end()) return accept(*result);
  }
}

void SupervisedWorker::accept(const nlohmann::json& result) {
  try {
    result_ = result_from_json(result);
    bury();
  } catch (const nlohmann::json::exception& error) {
    ::kill(pid_, SIGKILL);
    lose({});
    result_ = SuperviseResult{
        .start_error = fmt::format("what its supervisor says of its end cannot be read ({}): is nocturne-supervisor of "
                                   "the same version as nocturne?",
                                   error.what())};
  }
}

void SupervisedWorker::lose(std::string reason) {
  bury();
  kill_processes_of_run(run_id_);
  // The group of a supervisor that is gone is removed by nobody else.
  (void)sweep_cgroups(cgroup_parents());
  lost_ = true;
  SuperviseResult result;
  result.killed = true;
  result.killed_reason = std::move(reason);
  result_ = std::move(result);
}

void SupervisedWorker::command(const char* word, const std::string& reason) const {
  if (finished()) return;
  nlohmann::json document = {{"command", word}};
  if (!reason.empty()) document["reason"] = reason;
  (void)send_line(socket_, document);
}

void SupervisedWorker::stop() {
  if (!stop_wanted_) ran_ += Clock::now() - resumed_;
  stop_wanted_ = true;
  command("stop");
}

void SupervisedWorker::resume() {
  if (stop_wanted_) resumed_ = Clock::now();
  stop_wanted_ = false;
  stopped_ = false;
  command("continue");
}

void SupervisedWorker::kill(const std::string& reason) {
  if (!ending_since_) ending_since_ = Clock::now();
  kill_reason_ = reason;
  command("kill", reason);
}

}  // namespace nocturne::measure
