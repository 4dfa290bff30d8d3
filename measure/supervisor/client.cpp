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

#include "measure/supervisor/process_tree.hpp"

namespace nocturne::measure {
namespace {

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
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    ::posix_spawn_file_actions_addopen(&settings.files, standard, "/dev/null", O_RDWR, 0);
  }
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

std::expected<Supervised, std::string> Supervised::start(const SuperviseSpec& spec,
                                                         const std::filesystem::path& program) {
  std::array<int, 2> sockets{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0) {
    return std::unexpected(fmt::format("no socket for the supervisor: {}", std::strerror(errno)));
  }
  Supervised supervised;
  supervised.run_id_ = spec.run_id;
  supervised.kill_takes_ = spec.grace + spec.last_resort;
  supervised.socket_ = sockets[0];
  const int error = spawn_supervisor(program, sockets[1], supervised.pid_);
  ::close(sockets[1]);
  if (error != 0) {
    supervised.pid_ = -1;
    return std::unexpected(fmt::format("cannot start the supervisor {}: {}", program.string(), std::strerror(error)));
  }
  (void)send_line(supervised.socket_, to_json(spec));  // a failure shows as end of file
  return supervised;
}

Supervised::Supervised(Supervised&& other) noexcept
    : run_id_(std::move(other.run_id_)),
      pid_(std::exchange(other.pid_, -1)),
      socket_(std::exchange(other.socket_, -1)),
      kill_takes_(other.kill_takes_),
      give_up_(other.give_up_),
      stopped_(other.stopped_),
      lines_(std::move(other.lines_)),
      result_(std::move(other.result_)) {}

Supervised::~Supervised() {
  bury();
}

void Supervised::bury() {
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  while (pid_ > 0 && ::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

void Supervised::wait(std::chrono::milliseconds timeout, int also) {
  if (finished()) return;
  if (give_up_) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*give_up_ - std::chrono::steady_clock::now());
    if (left.count() <= 0) ::kill(pid_, SIGKILL);  // shows as end of file
    timeout = std::min(timeout, std::max(left, std::chrono::milliseconds(1)));
  }
  std::array<pollfd, 2> files{};
  files[0] = {.fd = socket_, .events = POLLIN, .revents = 0};
  files[1] = {.fd = also, .events = POLLIN, .revents = 0};
  if (::poll(files.data(), files.size(), static_cast<int>(timeout.count())) > 0 && files[0].revents != 0) receive();
}

void Supervised::receive() {
  std::array<char, 16384> buffer;
  const ssize_t count = ::recv(socket_, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) return lose();
  lines_.append(buffer.data(), static_cast<std::size_t>(count));
  while (const auto line = lines_.next()) {
    const nlohmann::json document = nlohmann::json::parse(*line, nullptr, false);
    if (!document.is_object()) continue;
    if (const auto stopped = document.find("stopped"); stopped != document.end()) stopped_ = *stopped == true;
    if (const auto result = document.find("result"); result != document.end()) {
      result_ = result_from_json(*result);
      bury();
      return;
    }
  }
}

// End of file without a result: somebody killed the supervisor. The worker died with it; its children may not have.
void Supervised::lose() {
  bury();
  kill_processes_of_run(run_id_);
  SuperviseResult result;
  result.killed = true;
  result.killed_reason = "its supervisor was killed";
  result_ = std::move(result);
}

void Supervised::command(const char* word, const std::string& reason) const {
  if (finished()) return;
  nlohmann::json document = {{"command", word}};
  if (!reason.empty()) document["reason"] = reason;
  (void)send_line(socket_, document);
}

void Supervised::stop() {
  command("stop");
}
void Supervised::resume() {
  stopped_ = false;
  command("continue");
}
void Supervised::kill(const std::string& reason) {
  if (!give_up_) give_up_ = std::chrono::steady_clock::now() + kill_takes_;
  command("kill", reason);
}

}  // namespace nocturne::measure
